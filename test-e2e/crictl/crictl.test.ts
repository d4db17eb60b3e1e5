import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../harness/eventually.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { BUSYBOX } from '../harness/pods.js';
import { Crictl } from './crictl.js';

/** The pod's files as crictl reads them. */
const NAME = 'crictl-pod';

await onEachEngine('crictl 1.37 drives a pod', async (t, node) => {
  const client = await Crictl.of(node);
  if (client === undefined) {
    t.comment('crictl is not there: it is built with Go, which this machine lacks');
    return;
  }
  const crictl = (...args: string[]) => client.run(...args);
  const json = async (...args: string[]) => (await client.json(...args)) as Record<string, never>;

  const logs = join(node.directory, 'logs', NAME);
  const podFile = join(node.directory, 'pod.json');
  const containerFile = join(node.directory, 'container.json');
  await mkdir(logs, { recursive: true });
  await writeFile(
    podFile,
    JSON.stringify({
      metadata: { name: NAME, namespace: 'default', uid: `crictl-${node.cgroupParent}`, attempt: 1 },
      hostname: NAME,
      log_directory: logs,
      labels: { app: 'crictl' },
      linux: { cgroup_parent: `/${node.cgroupParent}` },
    }),
  );
  await writeFile(
    containerFile,
    JSON.stringify({
      metadata: { name: 'main' },
      image: { image: BUSYBOX },
      command: ['sh', '-c', 'echo hello from main; exec sleep 3600'],
      log_path: 'main.log',
      linux: {},
    }),
  );

  await t.test('version, info', async (t) => {
    t.match(await crictl('version'), /RuntimeApiVersion:\s+v1/);
    t.match(await json('info'), { status: { conditions: [{ type: 'RuntimeReady', status: true }, { type: 'NetworkReady', status: true }] } });
  });

  await t.test('pull, images, inspecti, imagefsinfo', async (t) => {
    t.match(await crictl('pull', BUSYBOX), /Image is up to date for sha256:[0-9a-f]{64}/);
    t.match(await crictl('images'), /registry\.k8s\.io\/e2e-test-images\/busybox\s+1\.29-2\s+[0-9a-f]{13}/);
    t.match(await json('inspecti', BUSYBOX), { status: { repoTags: [BUSYBOX] } });
    t.match(await json('imagefsinfo'), { status: { imageFilesystems: [{}] } });
  });

  let pod = '';
  let container = '';
  await t.test('runp, create, start', async (t) => {
    pod = await crictl('runp', podFile);
    t.match(pod, /^[0-9a-f]{64}$/);
    container = await crictl('create', pod, containerFile, podFile);
    t.match(container, /^[0-9a-f]{64}$/);
    t.equal(await crictl('start', container), container);
  });

  await t.test('pods, ps, inspectp, inspect, by short ids', async (t) => {
    t.match(await crictl('pods'), new RegExp(`${pod.slice(0, 13)}.*Ready\\s+${NAME}\\s+default\\s+1`));
    t.match(await crictl('ps'), new RegExp(`${container.slice(0, 13)}.*Running\\s+main`));
    t.equal(await crictl('ps', '-q', '--pod', pod.slice(0, 13)), container);
    t.match(await json('inspectp', pod.slice(0, 13)), {
      status: { id: pod, state: 'SANDBOX_READY', metadata: { name: NAME, attempt: 1 }, network: { ip: node.network.subnet.replace('0/24', '2') } },
    });
    t.match(await json('inspect', container), { status: { id: container, state: 'CONTAINER_RUNNING', image: { image: BUSYBOX } } });
  });

  await t.test('logs, exec -s', async (t) => {
    t.equal(await eventually(() => crictl('logs', container)), 'hello from main');
    t.equal(await crictl('exec', '-s', container, 'hostname'), NAME);
    const failed = await client.attempt(['exec', '-s', container, 'sh', '-c', 'exit 7']);
    t.not(failed.code, 0);
    t.match(failed.stderr, /\b7\b/, 'the exit code is said');
  });

  await t.test('stop, rm, stopp, rmp', async (t) => {
    t.equal(await crictl('stop', '--timeout', '1', container), container);
    t.match(await json('inspect', container), { status: { state: 'CONTAINER_EXITED' } });
    t.equal(await crictl('rm', container), container);
    t.match(await crictl('stopp', pod), new RegExp(`Stopped sandbox ${pod}`));
    t.match(await crictl('pods'), /NotReady/);
    t.match(await crictl('rmp', pod), new RegExp(`Removed sandbox ${pod}`));
    t.equal(await crictl('pods', '-q'), '');
  });

  await t.test('rmi', async (t) => {
    t.match(await crictl('rmi', BUSYBOX), /Deleted/);
    t.notMatch(await crictl('images'), /busybox/);
  });
});
