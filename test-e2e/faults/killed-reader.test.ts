import { setTimeout as pause } from 'node:timers/promises';
import { describeGaps } from '../harness/counted-lines.js';
import { patience } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { CALL, TestPod } from '../harness/pods.js';
import { remoteCommand } from '../kubelet/remote-command.js';
import { CountingContainer } from './counting-container.js';
import { readForm } from './form.js';
import { onNodeNetwork } from './scenarios/configs.js';
import { criquetOf } from './scenarios/dying-daemon.js';

const { whole } = readForm();
const KILLS = whole ? 5 : 2;
const AWAY_MS = whole ? 20_000 : 3_000;
/** What a killed daemon may lose of a stream (ARCHITECTURE.md, Records and recovery). */
const LOST_AT_MOST = 64 * 1024;

await onEachEngine(
  `G4: a line a millisecond, the daemon killed and away for ${AWAY_MS / 1000} s, ${KILLS} times`,
  async (t, node) => {
    const criquet = criquetOf(node);
    const pod = await TestPod.run(node, onNodeNetwork(node));
    // The line that is long enough for the pipes to fill up while nobody reads.
    const writer = await CountingContainer.start(pod, 'writer', { bytes: 100, every: 0.001 }, 7);
    const { container } = writer;
    const grows = async () => {
      const size = await writer.size();
      await eventually(async () => {
        if ((await writer.size()) <= size) throw new Error('the log stands still');
      }, 20_000);
    };
    await grows();
    const { startedAt } = await container.status();
    for (let kill = 0; kill < KILLS; kill++) {
      await criquet.kill();
      node.reconnect();
      await pause(patience(AWAY_MS));
      await criquet.start();
      t.match(await container.status(), { state: 1, startedAt }, 'it goes on');
      await grows();
    }

    const { url } = await node.cri.runtime.attach({ containerId: container.id, stdout: true, stderr: true }, CALL);
    const attached = await remoteCommand(url.replace(/^http/, 'ws'), { protocol: 'v5.channel.k8s.io', until: /(\d+) o+ \1\n/ });
    t.match(attached.stdout, /(\d+) o+ \1\n/, 'attach works');

    await writer.letEnd();
    t.equal((await container.exit()).exitCode, 7);
    t.notOk(await writer.hadSigpipe(), 'no SIGPIPE');
    const lines = await writer.last();
    const lost: number[] = [];
    for (const [stream, { gaps, wrong }] of Object.entries(await writer.account(lines))) {
      t.strictSame(wrong, [], `${stream}: no line twice, out of order or mixed with another`);
      t.ok(gaps.length <= KILLS && gaps.every(({ bytes }) => bytes <= LOST_AT_MOST), `${stream}: lost ${describeGaps(gaps)}`);
      lost.push(gaps.reduce((sum, { bytes }) => sum + bytes, 0));
    }
    t.comment(`covered: ${KILLS} kills of ${AWAY_MS / 1000} s: ${lines} lines in each stream, bytes lost of stdout and stderr: ${lost.join(', ')}`);
    await pod.remove();
  },
  { only: 'criquet', logLevel: 'info', ...(whole ? {} : { engines: 'newest' }) },
);
