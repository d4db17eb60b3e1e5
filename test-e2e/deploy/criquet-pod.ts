/* criquet-pod on a node without systemd: a release or configuration that cannot be used takes nothing from the one that serves. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { readEnvironment } from '../harness/environment.js';
import { run, type RunResult } from '../harness/run.js';
import { layOutTree, OverlaidNode, writeProgram } from './overlaid-node.js';

const environment = readEnvironment();

/**
 * The container's file system: the node's at $HOST, the image's tree at /opt/criquet. What it runs in the namespaces of process 1 runs in
 * the overlaid node's.
 */
const IN_CONTAINER = `
mount --rbind / "$HOST"
mount --make-rprivate "$HOST"
mount -t tmpfs tmpfs /opt
mkdir /opt/criquet
mount --bind "$IMAGE" /opt/criquet
exec /opt/criquet/libexec/criquet-pod switch
`;

export async function criquetPodCommand(t: Test): Promise<void> {
  const node = await OverlaidNode.open(environment, t);
  const path = (name: string): string => join(node.directory, name);
  for (const name of ['host', 'config', 'image']) await mkdir(path(name), { recursive: true });
  // The switch itself is not tried here: it has happened as soon as it is asked for.
  await writeProgram(
    path('bin/systemctl'),
    `echo "$*" >>${path('calls')}
case $* in
  *start*criquet-switch.service) echo switched >/var/lib/criquet-node/state ;;
  try-restart*) [ ! -e ${path('cut-off')} ] ;;
esac`,
  );
  const nsenter = (await run('sh', ['-c', 'command -v nsenter'])).trim();
  await writeProgram(path('bin/nsenter'), `while [ "$1" != -- ]; do shift; done\nexec ${nsenter} --target ${node.pid} --mount "$@"`);

  /** What criquet-pod does with an image of this release and this configuration. */
  const switchTo = async (release: string, config: string): Promise<RunResult & { calls: string[] }> => {
    const image = path(`image/${release}`);
    await rm(image, { recursive: true, force: true });
    await layOutTree(environment, image, release);
    await writeProgram(join(image, 'bin/criquet'), `echo "${release} $1 $2" >>${path('calls')}\n[ "$1" != --version ] || exec echo criquet\nexec ${environment.checkout}/scripts/criquet "$@"`);
    await writeFile(path('config/config.toml'), config);
    await writeFile(path('calls'), '');
    const result = await node.shell(`exec timeout 60 unshare --mount --propagation private bash -ec '${IN_CONTAINER}'`, { HOST: path('host'), CONFIG: path('config'), IMAGE: image });
    return { ...result, calls: (await readFile(path('calls'), 'utf8')).split('\n').filter((call) => /config check|try-restart/.test(call)) };
  };
  const serving = async (): Promise<string[]> => (await node.shell('ls -d /opt/criquet*; cat /opt/criquet/release /etc/criquet/config.toml')).stdout.trim().split('\n');

  await t.test('a first release', async (t) => {
    t.match(await switchTo('one', 'log_level = "info"\n'), { code: 0, calls: ['one config check', 'one config check', 'try-restart criquet.service'] });
    t.strictSame(await serving(), ['/opt/criquet', 'one', 'log_level = "info"']);
  });

  await t.test('a release whose configuration is bad does not take the place of the one that serves', async (t) => {
    const refused = await switchTo('two', 'bogus = 1\n');
    t.match(refused, { code: 1, stderr: /config\.toml[\s\S]*bogus[\s\S]*nothing was done/ });
    t.strictSame(refused.calls, ['two config check'], 'the new release has looked at it, and nothing was restarted');
    t.strictSame(await serving(), ['/opt/criquet', 'one', 'log_level = "info"']);
    t.match(await switchTo('one', 'bogus = 1\n'), { code: 1, calls: ['one config check'] }, 'nor does the configuration alone');
    t.strictSame(await serving(), ['/opt/criquet', 'one', 'log_level = "info"']);
  });

  await t.test('a good one does, and what serves is restarted once', async (t) => {
    t.match(await switchTo('two', 'log_level = "debug"\n'), { code: 0, calls: ['two config check', 'two config check', 'try-restart criquet.service'] });
    t.strictSame(await serving(), ['/opt/criquet', 'two', 'log_level = "debug"']);
    t.strictSame((await switchTo('two', 'log_level = "debug"\n')).calls, ['two config check', 'two config check'], 'not again for the same');
    t.ok((await switchTo('two', 'log_level = "warn"\n')).calls.includes('try-restart criquet.service'), 'but for another configuration');
  });

  await t.test('cut off before the restart, it is made up for', async (t) => {
    await writeFile(path('cut-off'), '');
    t.match(await switchTo('three', 'log_level = "warn"\n'), { code: 1 });
    await rm(path('cut-off'));
    t.ok((await switchTo('three', 'log_level = "warn"\n')).calls.includes('try-restart criquet.service'));
    t.notOk((await switchTo('three', 'log_level = "warn"\n')).calls.includes('try-restart criquet.service'));
  });
}
