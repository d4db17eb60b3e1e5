/* criquet-node as somebody calls it, on a node without systemd: what it refuses changes nothing. */
import { join } from 'node:path';
import type { Test } from 'tap';
import { readEnvironment } from '../harness/environment.js';
import { OverlaidNode } from './overlaid-node.js';

const environment = readEnvironment();

export async function criquetNodeCommand(t: Test): Promise<void> {
  const node = await OverlaidNode.open(environment, t);
  const put = async (file: string, content: string): Promise<void> => {
    t.match(await node.shell(`mkdir -p "$(dirname ${file})" && printf '%s' '${content.replaceAll("'", `'\\''`)}' >${file}`), { code: 0 });
  };
  const status = async (): Promise<string> => (await node.criquetNode('status')).stdout.trim();

  await t.test('an install that cannot be carried out leaves nothing', async (t) => {
    const refused = async (directory: string, reason: RegExp): Promise<void> => {
      for (const command of ['check', 'install']) t.match(await node.criquetNode(command, directory), { code: 1, stderr: reason }, `${command} ${directory}`);
      t.strictSame(await node.files(), [], `${directory}: nothing was installed`);
    };
    await refused('/nonexistent', /\/nonexistent is not a directory/);
    await node.shell('mkdir -p /etc/given/empty');
    await refused('/etc/given/empty', /neither config\.toml nor node\.env/);
    await put('/etc/given/bad/config.toml', 'bogus = 1\n');
    await refused('/etc/given/bad', /\/etc\/given\/bad\/config\.toml[\s\S]*bogus[\s\S]*nothing was done/);
    const lines = ['PODS_SECONDS=2 minutes', 'ANSWER_SECONDS=2m', 'POD_SECONDS=60', 'CONTAINERD_CONFIG=etc/containerd.toml', 'KUBELET_CONFIGS='];
    const reasons = ['not NAME=value', 'ANSWER_SECONDS is a number of seconds, not "2m"', 'there is no setting POD_SECONDS', 'CONTAINERD_CONFIG is a path', 'KUBELET_CONFIGS is one path or several'];
    await put('/etc/given/settings/node.env', `${lines.join('\n')}\n`);
    await refused('/etc/given/settings', new RegExp(reasons.map((reason, index) => `/etc/given/settings/node\\.env, line ${index + 1}: ${reason}`).join('[\\s\\S]*')));
    t.equal(await status(), 'absent');
  });

  await t.test('a bad configuration does not replace a good one', async (t) => {
    await put('/etc/given/good/config.toml', 'log_level = "debug"\n');
    await put('/etc/given/good/node.env', "PODS_SECONDS=60 # not long\nKUBELET_CONFIGS='/etc/a.yaml /etc/b.yaml'\n");
    t.match(await node.criquetNode('install', '/etc/given/good'), { code: 0 });
    const installed = await node.files();
    t.ok(installed.some((line) => line.endsWith('/usr/local/bin/criquet')));
    t.equal(await status(), 'installed');
    t.match(await node.criquetNode('install', '/etc/given/bad'), { code: 1 });
    t.strictSame(await node.files(), installed);

    await put('/etc/criquet/config.d/10-more.toml', 'bogus = 1\n');
    t.match(await node.criquetNode('install', '/etc/given/good'), { code: 1, stderr: /\/etc\/criquet\/config\.d\/10-more\.toml/ }, 'with what lies beside it');
    await node.shell('rm -r /etc/criquet/config.d');
  });

  await t.test('what is not understood is refused, and --dry-run counts on either side', async (t) => {
    const installed = await node.files();
    for (const command of ['switch', 'confirm', 'rollback', 'uninstall', 'status', 'check /etc/given/good', 'install /etc/given/good']) {
      for (const more of ['more', '--dryrun']) t.match(await node.criquetNode(command, more), { code: 2, stderr: new RegExp(`${more}; see criquet-node --help`) }, `${command} ${more}`);
    }
    t.match(await node.criquetNode('instal'), { code: 2, stderr: /unknown command instal/ });
    t.match(await node.criquetNode('uninstall', '--help'), { code: 0, stdout: /criquet-node rollback/ });
    for (const words of [['--dry-run', 'uninstall'], ['uninstall', '--dry-run']]) t.match(await node.criquetNode(...words), { code: 0, stderr: /would run/ }, words.join(' '));
    t.strictSame(await node.files(), installed, 'and nothing was done');
  });

  await t.test('without systemd there is no switch, and the node is not left in one', async (t) => {
    t.match(await node.criquetNode('switch'), { code: 1, stderr: /systemd does not run here/ });
    t.equal(await status(), 'installed');
    t.match(await node.criquetNode('rollback'), { code: 0, stderr: /nothing to take back/ });
  });

  await t.test('a bad node.env is in nobody\'s way back', async (t) => {
    await put('/etc/criquet/node.env', 'PODS_SECONDS=2 minutes\n$(touch /etc/criquet/ran)\nexit 1\n');
    t.match(await node.criquetNode('check'), { code: 1, stderr: /line 1: not NAME=value/ });
    t.match(await node.criquetNode('status'), { code: 0, stdout: 'installed\n', stderr: /warning: .*line 1/ });
    t.match(await node.criquetNode('rollback'), { code: 0 });
    t.match(await node.criquetNode('--help'), { code: 0 });
    t.match(await node.shell('ls /etc/criquet/ran'), { stdout: '' }, 'it is read, not run');
    t.match(await node.criquetNode('install', '/etc/given/good'), { code: 0 }, 'a good one replaces it');
    await put('/etc/criquet/node.env', 'PODS_SECONDS=2 minutes\n');
    t.match(await node.criquetNode('uninstall'), { code: 0 });
    t.strictSame(await node.files(), []);
    t.equal(await status(), 'absent');
    t.match(await node.shell(`ls ${join(node.tree, 'libexec/criquet-node')}`), { code: 0 });
  });
}
