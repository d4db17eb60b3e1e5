import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuSeconds, residentBytes } from '../bench/resident-memory.js';
import { Crictl } from '../crictl/crictl.js';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { TestPod } from '../harness/pods.js';
import { run } from '../harness/run.js';

const MIB = 1024 * 1024;
/** What flows through one stream. */
const AMOUNT = { spdy: 500 * MIB, websocket: 200 * MIB };
/**
 * Bytes for each second of CPU that the daemon takes, which says more than the wall clock where its two cores are shared with whatever
 * else runs: then it is half of what a quiet machine has. The speed is printed.
 */
const FLOOR = 30_000_000;
/** criquet holds back 1 MiB for an input; the rest is Node's buffers until they are collected. */
const MEMORY = 128 * MIB;

await onEachEngine(
  'streams under load',
  async (t, node) => {
    const crictl = await Crictl.of(node);
    if (crictl === undefined) {
      t.comment('crictl is not there: it is built with Go, which this machine lacks');
      return;
    }
    const pid = node.runtimePid ?? 0;
    const pod = await TestPod.run(node);
    const container = await pod.start();

    /** Runs a shell pipeline with crictl in it while the daemon is watched: seconds, its CPU seconds, and the most memory it took more. */
    const flow = async (pipeline: string) => {
      const before = await residentBytes(pid);
      let most = before;
      const watch = setInterval(() => void residentBytes(pid).then((now) => (most = Math.max(most, now))), 100);
      const [began, cpu] = [Date.now(), await cpuSeconds(pid)];
      try {
        const output = await run('sh', ['-c', `exec_() { "${crictl.program}" --config "${crictl.configFile}" exec "$@"; }; ${pipeline}`], {
          timeoutMs: 150_000,
        });
        return { output, seconds: (Date.now() - began) / 1000, cpu: (await cpuSeconds(pid)) - cpu, memory: most - before };
      } finally {
        clearInterval(watch);
      }
    };

    for (const transport of ['spdy', 'websocket'] as const) {
      const amount = AMOUNT[transport];
      for (const [direction, pipeline] of [
        ['out', `exec_ -r ${transport} ${container.id} dd if=/dev/zero bs=64k count=${amount / 65536} status=none | wc -c`],
        ['in', `head -c ${amount} /dev/zero | exec_ -r ${transport} -i ${container.id} sh -c 'cat >/dev/null; echo ${amount}'`],
      ] as const) {
        await t.test(`${megabytes(amount)} ${direction} over ${transport}: at little cost, in bounded memory`, async (t) => {
          const { output, seconds, cpu, memory } = await flow(pipeline);
          t.equal(output.trim(), String(amount));
          t.comment(`${direction} over ${transport}: ${perSecond(amount / seconds)}, ${perSecond(amount / cpu)} of CPU, ${megabytes(memory)} more memory`);
          t.ok(amount / cpu > FLOOR, `${perSecond(amount / cpu)} of CPU`);
          t.ok(memory < MEMORY, `${megabytes(memory)} more memory`);
        });
      }
    }

    await t.test('port-forward: a connection that nobody reads holds up no other of its session; S3: an early answer', async (t) => {
      await pod.start({ command: ['sh', '-c', 'mkdir -p /tmp/www; echo -n the page >/tmp/www/index.html; exec httpd -f -p 127.0.0.1:7001 -h /tmp/www'] });
      await pod.start({ command: ['nc', '-ll', '-p', '7002', '-e', 'sleep', '3600'] });
      await pod.start({ command: ['nc', '-ll', '-p', '7003', '-e', 'sh', '-c', 'read line; echo "answer to $line"; sleep 1'] });
      const [page, stuck, early] = [await freePort(), await freePort(), await freePort()];
      const session = crictl.start(['port-forward', pod.id, `${page}:7001`, `${stuck}:7002`, `${early}:7003`]);
      t.teardown(() => session.child.kill('SIGKILL'));
      await session.printed(`${early} -> 7003`);
      const client = (port: number) => {
        const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
        socket.on('error', () => undefined);
        return socket;
      };
      const get = async () => {
        const socket = client(page);
        socket.write('GET / HTTP/1.0\r\n\r\n');
        const answer = await text(socket);
        socket.destroy();
        if (!answer.endsWith('the page')) throw new Error(`no page: ${JSON.stringify(answer)}`);
      };
      // A client ends its whole session when nobody listens yet.
      await eventually(async () => {
        for (const port of [7001, 7002, 7003]) {
          const { stdout } = await container.exec(['sh', '-c', 'cat /proc/net/tcp /proc/net/tcp6']);
          if (!new RegExp(`:${port.toString(16).toUpperCase()} 0+:0000 0A`).test(stdout)) throw new Error(`nobody listens on ${port}`);
        }
      });
      await get();

      const memory = await residentBytes(pid);
      // With no other connection known the stuck one is given more time, as a new one may wait unseen behind its data.
      const idle = client(page);
      const pushing = client(stuck);
      const pushed = push(pushing);
      await pause(1_000);
      const began = Date.now();
      await get();
      t.ok(Date.now() - began < 20_000, `another connection is served within ${Date.now() - began} ms`);
      t.ok((await residentBytes(pid)) < memory + MEMORY, 'what nobody reads is not held in memory');
      pushing.destroy();
      idle.destroy();
      await pushed;

      const answered = client(early);
      let answer = '';
      answered.on('data', (chunk: Buffer) => (answer += chunk.toString())).once('end', () => answered.destroy());
      answered.write('one\n');
      await push(answered);
      t.equal(answer, 'answer to one\n', 'S3');
      await get();
      t.pass('S3: a second request of the same session is answered');
      session.child.kill('SIGTERM');
      await session.ended;
    });

    await pod.remove();
  },
  { only: 'criquet', logLevel: 'info', engines: 'newest' },
);

/** Sends 100 MiB, or as much as is taken until the connection is closed. */
async function push(socket: Socket): Promise<void> {
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const block = Buffer.alloc(MIB);
  for (let sent = 0; sent < 100 && !socket.destroyed; sent++) {
    if (!socket.write(block)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

function perSecond(bytes: number): string {
  return `${megabytes(bytes)}/s`;
}
