/*
 * The parts of deploy/node that change files, one by one, on files as nodes have them, and all scripts as somebody calls them. The whole of it
 * runs under systemd with a real kubelet in vm/in-guest/kubelet-switch.test.ts.
 */
import { chmod, mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { readEnvironment, type Engine } from '../harness/environment.js';
import { run, tryRun, type RunResult } from '../harness/run.js';
import { criquetNodeCommand } from './criquet-node.js';
import { criquetPodCommand } from './criquet-pod.js';
import { kindScript } from './kind-e2e.js';
import { cutOffReleaseTree } from './release-tree.js';
import { roll } from './roll.js';
import { scriptCalls } from './script-calls.js';
import { SCRIPTS } from './script-checkout.js';

const environment = readEnvironment();
const scripts = join(environment.checkout, 'deploy/node');
const ENDPOINT = 'unix:///run/criquet/criquet.sock';
const CRI_PLUGINS = ['io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime', 'io.containerd.grpc.v1.cri'];

/** Runs shell code with the parts of criquet-node, on state of its own. */
function node(directory: string, code: string, env: Readonly<Record<string, string>> = {}): Promise<RunResult> {
  const prelude = `set -euo pipefail; LIBEXEC=${scripts}; DRY_RUN=${env.DRY_RUN ?? ''}
    for part in settings node-env files containerd-config kubelet-endpoint pods install switch; do . "$LIBEXEC/$part.sh"; done
    STATE_DIR=${directory}/state NODE_ENV=${directory}/node.env CRIQUET_CONFIG=${directory}/config.toml; read_settings`;
  return tryRun('bash', ['-c', `${prelude}\n${code}`], { env });
}

async function work(t: { teardown: (undo: () => unknown) => unknown }): Promise<string> {
  const directory = await mkdtemp(join(environment.root, 'criquet-node-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Configurations of containerd as nodes have them. */
const CONTAINERD: Readonly<Record<string, string>> = {
  none: '',
  'version 2, as kubeadm users have it': 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "registry.k8s.io/pause:3.10"\n',
  'version 3': "version = 3\nroot = '/var/lib/containerd'\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\n  default_runtime_name = 'runc'\n",
  'with a plugin that is off': 'version = 3\ndisabled_plugins = ["io.containerd.nri.v1.nri"] # not here\nimports = []\n[debug]\n  level = "info"\n',
  'with an empty list': 'version = 2\ndisabled_plugins=[]\n',
  'with a list of several lines': "version = 3\nimports = [\n  '/etc/containerd/other.toml',\n]\ndisabled_plugins = [\n  'io.containerd.nri.v1.nri', # a remark\n]\n",
  'with the key in a table': 'version = 3\n[timeouts]\n  "io.containerd.timeout.shim.load" = "5s"\n[plugins."x.example"]\n  disabled_plugins = ["a"]\n',
};

for (const [engine, directory] of Object.entries(environment.containerd) as [Engine, string][]) {
  await t.test(`containerd ${engine}: the CRI plugin is turned off, whatever the configuration`, async (t) => {
    const files = await work(t);
    const env = { PATH: `${directory}:${process.env.PATH ?? ''}` };
    const config = join(files, 'containerd.toml');
    for (const [name, content] of Object.entries(CONTAINERD)) {
      await t.test(name, async (t) => {
        await rm(join(files, 'state'), { recursive: true, force: true });
        if (content === '') await rm(config, { force: true });
        else await writeFile(config, content);
        const turnOff = `CONTAINERD_CONFIG=${config}; turn_off_cri_plugin; cri_plugin_is_off ${config}`;
        t.match(await node(files, turnOff, env), { code: 0 });
        const changed = await readFile(config, 'utf8');
        const dump = await run(join(directory, 'containerd'), ['--config', config, 'config', 'dump']);
        const disabled = /^disabled_plugins = \[(.*)\]/m.exec(dump)?.[1] ?? '';
        for (const plugin of CRI_PLUGINS) t.match(disabled, plugin);
        if (content.includes('nri.v1.nri')) t.match(disabled, 'io.containerd.nri.v1.nri', 'what was off stays off');
        for (const line of content.split('\n').filter((line) => !line.startsWith('disabled_plugins'))) t.ok(changed.split('\n').includes(line), `kept: ${line}`);

        t.match(await node(files, 'restore switch'), { code: 0 });
        t.equal(await readFile(config, 'utf8').catch(() => ''), content, 'and comes back');
      });
    }
    await t.test('what containerd does not take is left as it is', async (t) => {
      await writeFile(config, 'version = \n');
      t.match(await node(files, `CONTAINERD_CONFIG=${config}; turn_off_cri_plugin`, env), { code: 1, stderr: /could not turn the CRI plugin off/ });
      t.equal(await readFile(config, 'utf8'), 'version = \n');
    });
  });
}

await t.test('the kubelet is pointed at another runtime, in its configuration and in flags', async (t) => {
  const files = await work(t);
  const [config, instance, flags, defaults] = ['config.yaml', 'instance-config.yaml', 'kubeadm-flags.env', 'default'].map((name) => join(files, name)) as [string, string, string, string];
  const old = 'unix:///run/containerd/containerd.sock';
  const point = `KUBELET_CONFIGS="${config} ${instance}" KUBELET_FLAG_FILES="${flags} ${defaults} ${files}/absent"; point_kubelet ${ENDPOINT}`;
  const contents = {
    [config]: `kind: KubeletConfiguration\ncontainerRuntimeEndpoint: ${old}\nimageServiceEndpoint: "${old}"\nlogging:\n  containerRuntimeEndpoint: not this\n`,
    [instance]: `containerRuntimeEndpoint: "${old}"\n`,
    [flags]: `KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=${old} --node-ip=10.0.0.1"\n`,
    [defaults]: `KUBELET_EXTRA_ARGS='--v=2 --image-service-endpoint ${old}'`,
  };
  for (const [file, content] of Object.entries(contents)) await writeFile(file, content);
  const before = await Promise.all(Object.keys(contents).map(facts));

  t.match(await node(files, point), { code: 0 });
  t.equal(await readFile(config, 'utf8'), `kind: KubeletConfiguration\ncontainerRuntimeEndpoint: "${ENDPOINT}"\nimageServiceEndpoint: "${ENDPOINT}"\nlogging:\n  containerRuntimeEndpoint: not this\n`);
  t.equal(await readFile(instance, 'utf8'), `containerRuntimeEndpoint: "${ENDPOINT}"\n`);
  t.equal(await readFile(flags, 'utf8'), `KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=${ENDPOINT} --node-ip=10.0.0.1"\n`);
  t.equal(await readFile(defaults, 'utf8'), `KUBELET_EXTRA_ARGS='--v=2 --image-service-endpoint ${ENDPOINT}'`, 'without a line end as before');

  t.match(await node(files, `${point}; ${point}`), { code: 0 }, 'again');
  t.match(await node(files, 'restore switch'), { code: 0 });
  t.strictSame(await Promise.all(Object.keys(contents).map(facts)), before, 'content, mode and time are as they were');

  await writeFile(config, 'kind: KubeletConfiguration\n');
  await rm(instance);
  t.match(await node(files, point), { code: 0 });
  t.equal(await readFile(config, 'utf8'), `kind: KubeletConfiguration\ncontainerRuntimeEndpoint: "${ENDPOINT}"\n`, 'the key is added where the kubelet reads it');
  await t.rejects(stat(instance), 'and no file is made');

  await writeFile(config, '{"kind":"KubeletConfiguration"}');
  t.match(await node(files, point), { code: 1, stderr: /is JSON/ });
});

await t.test('a file is kept once, and put back with mode, owner and time; what was not there goes', async (t) => {
  const files = await work(t);
  const file = join(files, 'etc/some.conf');
  await mkdir(join(files, 'etc'));
  await writeFile(file, 'one\n');
  await chmod(file, 0o640);
  await utimes(file, 1_000_000, 1_000_000);
  const before = await facts(file);
  t.match(await node(files, `echo two | put a ${file}; echo three | put a ${file}; echo new | put a ${files}/etc/new; put_link a ${files}/etc/link /target`), { code: 0 });
  t.equal(await readFile(file, 'utf8'), 'three\n');
  t.equal((await stat(file)).mode & 0o777, 0o640, 'a changed file keeps its mode');
  t.match(await node(files, 'restore a; restore a'), { code: 0 });
  t.strictSame(await facts(file), before);
  t.equal((await run('ls', ['-A', join(files, 'etc')])).trim(), 'some.conf');

  await t.test('--dry-run writes nothing', async (t) => {
    const { code, stderr } = await node(files, `echo two | put a ${file}; set_state switching; run touch ${files}/touched`, { DRY_RUN: '1' });
    t.equal(code, 0);
    for (const said of ['-one', '+two', 'would be switching', `would run: touch ${files}/touched`]) t.match(stderr, said);
    t.strictSame(await facts(file), before);
    t.equal((await run('ls', ['-A', files])).trim().split('\n').sort().join(' '), 'etc state');
    t.equal((await run('find', [join(files, 'state'), '-type', 'f'])).trim(), '');
  });
});

await t.test('a rolled-back node is worth another try when something of it has changed', async (t) => {
  const files = await work(t);
  await writeFile(join(files, 'config.toml'), 'log_level = "info"\n');
  t.match(await node(files, 'state'), { stdout: 'absent\n' });
  t.match(await node(files, 'set_state rolled-back "$(attempt)"; state'), { stdout: 'rolled-back\n' });
  await writeFile(join(files, 'config.toml'), 'log_level = "debug"\n');
  t.match(await node(files, 'state'), { stdout: 'installed\n' });
});

await t.test('node-ready waits until the API says Ready on criquet', async (t) => {
  const files = await work(t);
  await writeFile(join(files, 'token'), 'secret\n');
  const answers = [
    { status: { nodeInfo: { containerRuntimeVersion: 'containerd://2.1.9' }, conditions: [{ type: 'Ready', status: 'True' }] } },
    { status: { nodeInfo: { containerRuntimeVersion: 'criquet://0.1.0' }, conditions: [{ type: 'Ready', status: 'False', message: 'no network' }] } },
    { status: { nodeInfo: { containerRuntimeVersion: 'criquet://0.1.0' }, conditions: [{ type: 'Ready', status: 'True' }] } },
  ];
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const index = asked.push(`${request.url ?? ''} ${request.headers.authorization ?? ''}`) - 1;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[Math.min(index, limit)]));
  });
  let limit = 2;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const env = {
    API_SCHEME: 'http',
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String((server.address() as AddressInfo).port),
    NODE_NAME: 'node-1',
    TOKEN_FILE: join(files, 'token'),
  };
  const program = join(scripts, 'node-ready.mjs');
  t.match(await tryRun(process.execPath, [program], { env }), { code: 0 });
  t.equal(asked.length, 3, 'not before');
  t.equal(asked[0], '/api/v1/nodes/node-1 Bearer secret');
  limit = 1;
  asked.length = 0;
  t.match(await tryRun(process.execPath, [program], { env: { ...env, READY_SECONDS: '1' } }), { code: 1, stderr: /node-1: it is not Ready: no network/ });
});

await t.test('the scripts of deploy/ are clean', async (t) => {
  const there = await tryRun('shellcheck', ['--version']).catch(() => undefined);
  if (there === undefined) {
    t.comment('shellcheck is not there');
    t.pass();
    return;
  }
  const files = ['deploy/node/criquet-node', 'deploy/node/criquet-pod', 'deploy/daemonset/roll', 'deploy/kind/node/criquet-snapshotter', ...SCRIPTS.map((name) => `scripts/${name}`)];
  const parts = (await run('sh', ['-c', 'ls deploy/node/*.sh scripts/lib/script-call.sh scripts/lib/docker.sh scripts/lib/debian-root.sh'], { cwd: environment.checkout })).trim().split('\n');
  const { code, stdout } = await tryRun('shellcheck', ['-x', ...files, ...parts], { cwd: environment.checkout });
  t.equal(code, 0, stdout);
});

await t.test('criquet-node', criquetNodeCommand);
await t.test('criquet-pod', criquetPodCommand);
await t.test('deploy/daemonset/roll', roll);
await t.test('scripts: how they are called', scriptCalls);
await t.test('scripts/release-tree', cutOffReleaseTree);
await t.test('scripts/kind-e2e', kindScript);

/** Content, mode and time of a file. */
async function facts(file: string): Promise<readonly unknown[]> {
  const { mode, uid, gid, mtimeMs } = await stat(file);
  return [await readFile(file, 'utf8'), mode, uid, gid, mtimeMs];
}
