/* deploy/daemonset/roll, with a kubectl that keeps one node in files. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { readEnvironment } from '../harness/environment.js';
import { tryRun, type RunResult } from '../harness/run.js';

const environment = readEnvironment();

/** A cluster of one node that takes the runtime of its label at once, unless `stuck`. */
const KUBECTL = `#!/bin/bash
cd "$CLUSTER" || exit
echo "$*" >>calls
[ ! -e unreachable ] || { echo "the connection was refused" >&2; exit 1; }
case "$*" in
  *'get daemonset'*) cat daemonset ;;
  *'get pods'*) [ ! -e label ] || [ -e stuck ] || printf True ;;
  *.containerRuntimeVersion*) printf '%s True' "$(cat runtime)" ;;
  *.unschedulable*) [ ! -e cordoned ] || printf true ;;
  *.annotations.*) [ ! -e annotation ] || cat annotation ;;
  *.labels.*) [ ! -e label ] || cat label ;;
  'get node '*) ;;
  'annotate '*=roll) printf roll >annotation ;;
  'annotate '*cordoned-by-) rm annotation ;;
  'drain '*) : >cordoned; [ ! -e undrainable ] ;;
  'uncordon '*) rm -f cordoned ;;
  'label '*) last=\${!#} && printf %s "\${last##*=}" >label; [ -e stuck ] || printf '%s://1' "$(cat label)" >runtime ;;
  *) echo "kubectl: what is $*?" >&2; exit 9 ;;
esac
`;

class Cluster {
  private constructor(
    private readonly directory: string,
    private readonly files: string,
  ) {}

  /** In `directory`, with these files beside the usual ones. */
  static async make(directory: string, ...files: string[]): Promise<Cluster> {
    const cluster = new Cluster(directory, await mkdtemp(join(directory, 'cluster-')));
    await cluster.set('daemonset', 'daemonset.apps/one\n');
    await cluster.set('runtime', 'containerd://2');
    for (const file of files) await cluster.set(file, '');
    return cluster;
  }

  set(file: string, content: string): Promise<void> {
    return writeFile(join(this.files, file), content);
  }

  unset(file: string): Promise<void> {
    return rm(join(this.files, file));
  }

  has(file: string): Promise<boolean> {
    return readFile(join(this.files, file)).then(() => true, () => false);
  }

  /** Runs `roll`; gives its result and what it asked the cluster to change. */
  async roll(words: readonly string[], env: Record<string, string> = {}): Promise<RunResult & { changes: string[] }> {
    await this.set('calls', '');
    const result = await tryRun(join(environment.checkout, 'deploy/daemonset/roll'), words, {
      env: { CLUSTER: this.files, PATH: `${this.directory}/bin:${process.env.PATH ?? ''}`, ...env },
    });
    const calls = (await readFile(join(this.files, 'calls'), 'utf8')).split('\n');
    return { ...result, changes: calls.map((call) => call.split(' ')[0] ?? '').filter((verb) => ['drain', 'label', 'annotate', 'uncordon'].includes(verb)) };
  }
}

export async function roll(t: Test): Promise<void> {
  const directory = await mkdtemp(join(environment.root, 'criquet-roll-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await mkdir(join(directory, 'bin'));
  await writeFile(join(directory, 'bin/kubectl'), KUBECTL);
  await chmod(join(directory, 'bin/kubectl'), 0o755);
  const clusterWith = (...files: string[]): Promise<Cluster> => Cluster.make(directory, ...files);

  await t.test('a node is drained, sent over and uncordoned; again, and it is left in peace', async (t) => {
    const cluster = await clusterWith();
    t.match(await cluster.roll(['switch', 'node-1']), { code: 0, changes: ['annotate', 'drain', 'label', 'uncordon', 'annotate'], stderr: /node-1: on criquet:\/\/1 True/ });
    t.equal(await cluster.has('annotation'), false);
    t.strictSame((await cluster.roll(['switch', 'node-1'])).changes, ['label'], 'no second drain');
    t.match(await cluster.roll(['back', 'node-1']), { code: 0, changes: ['annotate', 'drain', 'label', 'uncordon', 'annotate'] });
  });

  await t.test('a node that failed is uncordoned by the run that succeeds, and one that somebody else cordoned is not', async (t) => {
    const failed = await clusterWith('stuck');
    t.match(await failed.roll(['switch', 'node-1'], { NODE_SECONDS: '1' }), { code: 1, stderr: /node-1 is on containerd:\/\/2 True and stays cordoned/ });
    t.ok(await failed.has('cordoned'));
    await failed.unset('stuck');
    t.match(await failed.roll(['switch', 'node-1']), { code: 0 });
    t.notOk(await failed.has('cordoned'));

    const late = await clusterWith('stuck');
    t.match(await late.roll(['switch', 'node-1'], { NODE_SECONDS: '1' }), { code: 1 });
    await late.unset('stuck');
    await late.set('runtime', 'criquet://1');
    t.match(await late.roll(['switch', 'node-1']), { code: 0, changes: ['label', 'uncordon', 'annotate'] }, 'it came back after its time: no second drain');

    const undrainable = await clusterWith('undrainable');
    t.match(await undrainable.roll(['switch', 'node-1']), { code: 1, stderr: /could not be drained; it stays cordoned/ });
    await undrainable.unset('undrainable');
    t.match(await undrainable.roll(['switch', 'node-1']), { code: 0 });
    t.notOk(await undrainable.has('cordoned'));

    const cordoned = await clusterWith('cordoned');
    t.match(await cordoned.roll(['switch', 'node-1']), { code: 0, stderr: /was cordoned before, and stays so/ });
    t.ok(await cordoned.has('cordoned'));
  });

  await t.test('what is wrong is said before a node is touched', async (t) => {
    const cluster = await clusterWith();
    for (const [words, env, reason] of [
      [['switch', 'node-1'], { NODE_SECONDS: '10m' }, /NODE_SECONDS is a number of seconds, not 10m/],
      [['switch', '--now', 'node-1'], {}, /unknown option --now/],
      [['turn', 'node-1'], {}, /switch or back, not turn/],
      [['switch'], {}, /which nodes/],
    ] as const) {
      const result = await cluster.roll(words, env);
      t.match(result, { code: 2, stderr: reason });
      t.strictSame(result.changes, []);
    }
    t.match(await cluster.roll(['--help']), { code: 0, stdout: /roll switch NODE/ });
    await cluster.set('daemonset', '');
    t.match(await cluster.roll(['switch', 'node-1']), { code: 1, stderr: /apply deploy\/daemonset first/ });
    const unreachable = await (await clusterWith('unreachable')).roll(['switch', 'node-1']);
    t.match(unreachable, { code: 1, stderr: /connection was refused[\s\S]*could not be asked/ });
    t.notMatch(unreachable.stderr, 'apply deploy/daemonset');
  });
}
