/*
 * deploy/node with a real kubelet under systemd: the pod of deploy/daemonset takes it from containerd's CRI plugin to criquet and back, and a
 * switch that nobody confirms is taken back by itself. Runs inside the guest that vm.test.ts boots.
 */
import { access, appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import t from 'tap';
import { enginesUnderTest, readEnvironment } from '../../harness/environment.js';
import { eventually } from '../../harness/eventually.js';
import { BUSYBOX } from '../../harness/pods.js';
import { run, tryRun } from '../../harness/run.js';
import { GUEST } from '../guest-job.js';
import {
  CONTAINERD_CONFIG,
  CONTAINERD_ENDPOINT,
  CRIQUET_ENDPOINT,
  CRIQUET_NODE as NODE,
  crictl,
  INSTANCE_CONFIG,
  KUBELET_CONFIG,
  KUBELET_FLAGS,
  SystemdKubelet,
} from './systemd-kubelet.js';

const CHANGED = [CONTAINERD_CONFIG, KUBELET_CONFIG, INSTANCE_CONFIG, KUBELET_FLAGS];
const INSTALLED = ['/etc/systemd/system', '/etc/criquet', '/usr/local/bin', '/opt', '/var/lib/criquet-node', '/var/lib/criquet'];

const environment = readEnvironment();
const [engine] = enginesUnderTest(environment);
if (engine === undefined) throw new Error('no containerd');

/** An image that no pod asks for. */
const NOBODYS = 'gcr.io/k8s-staging-cri-tools/test-image-1:latest';

/** A pod that runs until it is told to end, and one with a preStop hook's worth of time. */
const WEB = {
  terminationGracePeriodSeconds: 3,
  containers: [{ name: 'web', image: BUSYBOX, command: ['sh', '-c', 'mkdir -p /www && echo hello >/www/index.html && exec httpd -f -p 8080 -h /www'] }],
};

/** The pod of deploy/daemonset as a static one. Its image is the guest's own system with the release tree, so that none has to be built. */
function criquetPod(command: 'switch' | 'rollback'): object {
  const from = { host: '/', usr: '/usr', tree: `${GUEST.job}/release`, config: '/srv/config' };
  const at: Readonly<Record<string, readonly string[]>> = { host: ['/host'], usr: ['/usr'], tree: ['/opt/criquet'], config: ['/config'] };
  const merged = ['bin', 'sbin', 'lib', 'lib64'].map((name) => ({ name: 'usr', mountPath: `/${name}`, subPath: name }));
  const container = {
    image: BUSYBOX,
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
    ],
    securityContext: { privileged: true },
    volumeMounts: [...Object.entries(at).flatMap(([name, paths]) => paths.map((mountPath) => ({ name, mountPath }))), ...merged],
  };
  const program = '/opt/criquet/libexec/criquet-pod';
  return {
    hostPID: true,
    hostNetwork: true,
    terminationGracePeriodSeconds: 1,
    initContainers: [{ ...container, name: command, command: [program, command] }],
    containers: [{ ...container, name: 'wait', command: [program, 'wait'] }],
    volumes: Object.entries(from).map(([name, path]) => ({ name, hostPath: { path } })),
  };
}

/** Content, mode and owner of the files that a switch changes. */
async function changed(): Promise<Record<string, string>> {
  const entries = await Promise.all(CHANGED.map(async (file) => [file, `${await run('stat', ['-c', '%a %U %Y', file])}${await readFile(file, 'utf8')}`]));
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Everything that is where criquet is put. */
async function installed(): Promise<string[]> {
  const lists = await Promise.all(INSTALLED.map(async (directory) => (await tryRun('find', [directory, '-printf', '%p %l\\n'])).stdout.split('\n')));
  return lists.flat().sort();
}

async function status(): Promise<string> {
  return (await run(NODE, ['status'])).trim();
}

async function waitForStatus(wanted: string, timeoutMs = 60_000): Promise<void> {
  await eventually(
    async () => {
      const now = await status();
      if (now !== wanted) throw new Error(`the node is ${now}, not ${wanted}`);
    },
    timeoutMs,
    500,
  );
}

await run('mkdir', ['-p', '/srv/config']);
await writeFile('/srv/config/config.toml', '[runtime.handlers.runc]\nsystemd_cgroup = true\n');
const node = await SystemdKubelet.start(environment, engine);
t.teardown(() => node.dispose());
await node.apply('web', WEB);
await node.ready('web', CONTAINERD_ENDPOINT, 60_000);
const before = { changed: await changed(), installed: await installed() };
const uid = (await node.pods()).get('web')?.metadata.uid;

await t.test('the pod of the DaemonSet switches the kubelet to criquet', async (t) => {
  await node.apply('criquet-switch', criquetPod('switch'));
  await node.ready('criquet-switch', CRIQUET_ENDPOINT, 160_000);
  t.equal(await status(), 'switched');
  await node.ready('web', CRIQUET_ENDPOINT);
  t.equal((await node.pods()).get('web')?.metadata.uid, uid, 'the pod is the same to the kubelet');
  const plugin = await tryRun('crictl', ['--runtime-endpoint', CONTAINERD_ENDPOINT, '--timeout', '5s', 'pods']);
  t.not(plugin.code, 0, "containerd's CRI plugin serves no more");
  t.equal((await run('ctr', ['-n', 'k8s.io', 'containers', 'list', '-q'])).trim().split('\n').length, 5, 'nothing of it is left: containers are those of two pods');
  t.match(await readFile(CONTAINERD_CONFIG, 'utf8'), '# an administrator\'s remark', 'its configuration is changed and not rewritten');
  for (const file of [KUBELET_CONFIG, INSTANCE_CONFIG]) t.match(await readFile(file, 'utf8'), `containerRuntimeEndpoint: "${CRIQUET_ENDPOINT}"`);
  t.equal((await tryRun('systemctl', ['is-enabled', 'criquet'])).stdout.trim(), 'enabled');
  t.equal((await tryRun('systemctl', ['is-enabled', 'criquet-switch'])).stdout.trim(), 'disabled', 'a reboot does not switch again');
});

await t.test('an image that `ctr` imports, as `kind load` does, is there for the kubelet', async () => {
  const name = 'example.criquet.test/loaded:1';
  // Not one that the kubelet pulled itself: that it gives nobody under another name who has not shown credentials (KubeletEnsureSecretPulledImages).
  await crictl(CRIQUET_ENDPOINT, 'pull', NOBODYS);
  await run('ctr', ['-n', 'k8s.io', 'images', 'tag', NOBODYS, name]);
  await run('ctr', ['-n', 'k8s.io', 'images', 'export', '--local', '/srv/loaded.tar', name]);
  await run('ctr', ['-n', 'k8s.io', 'images', 'remove', name]);
  await eventually(async () => {
    if ((await crictl(CRIQUET_ENDPOINT, 'images')).includes('example.criquet.test/loaded')) throw new Error('still there');
  });
  await run('ctr', ['-n', 'k8s.io', 'images', 'import', '--all-platforms', '--digests', '--snapshotter=overlayfs', '/srv/loaded.tar']);
  await node.apply('loaded', { ...WEB, containers: WEB.containers.map((container) => ({ ...container, image: name, imagePullPolicy: 'Never' })) });
  await node.ready('loaded', CRIQUET_ENDPOINT);
  await node.remove('loaded');
});

await t.test('a new configuration is taken over by the pod, and no other pod is touched', async (t) => {
  const ids = await crictl(CRIQUET_ENDPOINT, 'ps', '-q', '--label', 'io.kubernetes.pod.name=web-guest');
  await appendFile('/srv/config/config.toml', '[image]\nmax_parallel_pulls = 7\n');
  await node.remove('criquet-switch');
  await eventually(async () => {
    if ((await crictl(CRIQUET_ENDPOINT, 'pods', '-q', '--name', 'criquet-switch')) !== '') throw new Error('still there');
  }, 60_000);
  await node.apply('criquet-switch', criquetPod('switch'));
  await node.ready('criquet-switch', CRIQUET_ENDPOINT);
  t.match(await readFile('/etc/criquet/config.toml', 'utf8'), 'max_parallel_pulls = 7');
  t.equal(await crictl(CRIQUET_ENDPOINT, 'ps', '-q', '--label', 'io.kubernetes.pod.name=web-guest'), ids);
});

await t.test('and back: every file as it was, nothing of criquet left', async (t) => {
  await node.remove('criquet-switch');
  await node.apply('criquet-rollback', criquetPod('rollback'));
  await node.ready('criquet-rollback', CONTAINERD_ENDPOINT, 160_000);
  await node.ready('web', CONTAINERD_ENDPOINT);
  t.strictSame(await changed(), before.changed);
  t.strictSame(await installed(), before.installed);
  t.not((await tryRun('systemctl', ['cat', 'criquet'])).code, 0);
  await node.remove('criquet-rollback');
});

await t.test('a switch that nobody confirms is taken back by itself', async (t) => {
  await writeFile('/srv/config/node.env', 'CONFIRM_SECONDS=5\nPODS_SECONDS=60\n');
  await run('cp', ['-a', `${GUEST.job}/release`, '/opt/criquet']);
  await run(NODE, ['install', '/srv/config']);
  t.equal(await status(), 'installed');
  await run('systemctl', ['start', '--no-block', 'criquet-switch.service']);
  await waitForStatus('rolled-back', 160_000);
  await node.ready('web', CONTAINERD_ENDPOINT, 60_000);
  t.strictSame(await changed(), before.changed);
  t.equal(await status(), 'rolled-back', 'and is not worth another try');
  await appendFile('/etc/criquet/node.env', '# another\n');
  t.equal(await status(), 'installed', 'until something of it has changed');
});

await t.test('a switch that criquet does not survive is taken back too', async (t) => {
  // It passes the check and cannot listen: a directory is in the socket's place.
  await writeFile('/etc/criquet/node.env', 'ANSWER_SECONDS=5\n');
  await run('mkdir', ['-p', '/run/criquet/criquet.sock/in-the-way']);
  await run('systemctl', ['start', '--no-block', 'criquet-switch.service']);
  await waitForStatus('rolled-back', 160_000);
  await rm('/run/criquet/criquet.sock', { recursive: true });
  await node.ready('web', CONTAINERD_ENDPOINT, 60_000);
  t.strictSame(await changed(), before.changed);
});

await t.test('--dry-run says what would be done and does nothing', async (t) => {
  const files = await installed();
  const { code, stderr } = await tryRun(NODE, ['--dry-run', 'switch']);
  t.equal(code, 0, stderr);
  for (const said of ['systemctl stop kubelet.service', `+containerRuntimeEndpoint: "${CRIQUET_ENDPOINT}"`, '+disabled_plugins = [']) t.match(stderr, said);
  t.strictSame(await changed(), before.changed);
  t.strictSame(await installed(), files);
  await node.ready('web', CONTAINERD_ENDPOINT);
});

await t.test('uninstall: nothing is left', async (t) => {
  await run(NODE, ['uninstall']);
  await rm('/opt/criquet', { recursive: true });
  t.strictSame(await installed(), before.installed);
  await t.rejects(access('/run/criquet'));
  t.same((await readdir('/etc/systemd/system/multi-user.target.wants')).filter((name) => /^criquet(-switch|-rollback)?\.service$/.test(name)), []);
});
