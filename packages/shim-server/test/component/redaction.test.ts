import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import type { ContainerConfig, DeepPartial, PodSandboxConfig } from '@criquet/cri-api';
import type { FakeProcess } from '@criquet/runtime-containerd/testing';
import { test, type Test } from 'tap';
import { SpdyClient } from '../streaming/support/spdy-client.js';
import { eventually, Shim } from './shim-harness.js';

const REFERENCE = 'reg.test:5000/team/app:1';

/** One for each place, so that what leaks says where it came from. */
const secret = (place: string) => `hunter2-${place}`;
const bytes = (text: string) => Buffer.from(text);

const pod: DeepPartial<PodSandboxConfig> = {
  annotations: { token: secret('pod-annotation'), 'kubectl.kubernetes.io/last-applied-configuration': secret('last-applied') },
  dnsConfig: { searches: ['search.test'] },
};
const container: DeepPartial<ContainerConfig> = {
  command: ['/app', `--password=${secret('command')}`],
  args: [secret('argument')],
  envs: [{ key: 'PASSWORD', value: bytes(secret('environment')) }],
  annotations: { token: secret('container-annotation') },
  stdin: true,
};
/** Of these CRI itself shows the annotations, to whoever may ask. */
const SHOWN = ['pod-annotation', 'last-applied', 'container-annotation'];

/** What the daemon told anybody: its log at every level, and the errors of calls. */
class Told {
  readonly errors: string[] = [];

  constructor(private readonly shim: Shim) {}

  async attempt<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      this.errors.push(String(error), (error as { details?: string }).details ?? '');
      return undefined;
    }
  }

  leaks(): string[] {
    return [...this.shim.logLines, ...this.errors].filter((text) => /hunter2|aHVudGVyM/.test(text));
  }
}

async function life(shim: Shim, told: Told): Promise<{ podSandboxId: string; containerId: string; events: string[] }> {
  const { runtime, image } = shim.cri;
  const events: string[] = [];
  const ended = new AbortController();
  const reading = (async () => {
    for await (const event of runtime.getContainerEvents({}, { signal: ended.signal })) events.push(JSON.stringify(event, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value)));
  })().catch(() => undefined);
  for (const auth of [
    { username: 'u', password: secret('password') },
    { auth: bytes(`u:${secret('auth')}`).toString('base64') },
    { auth: bytes(secret('broken-auth')).toString('base64') },
    { identityToken: secret('identity-token') },
    { registryToken: secret('registry-token') },
  ]) {
    await told.attempt(image.pullImage({ image: { image: REFERENCE }, auth }));
  }
  const podSandboxId = (await told.attempt(shim.runPod(pod))) ?? 'none';
  const containerId = (await told.attempt(shim.createContainer(podSandboxId, container))) ?? 'none';
  await told.attempt(runtime.startContainer({ containerId }));
  await told.attempt(runtime.execSync({ containerId, cmd: ['login', secret('exec-sync')], timeout: 5n }));
  const url = await told.attempt(runtime.exec({ containerId, cmd: ['login', secret('exec')], stdin: true, stdout: true }));
  if (url !== undefined) {
    const client = await SpdyClient.connect(url.url, ['v4.channel.k8s.io']);
    const { stdin } = await client.openTypes('error', 'stdin', 'stdout');
    stdin.write(secret('stdin'));
    stdin.end();
    await client.closed;
  }
  await told.attempt(runtime.updateContainerResources({ containerId, annotations: { token: secret('update-annotation') } }));
  await told.attempt(runtime.reopenContainerLog({ containerId }));
  await told.attempt(runtime.stopContainer({ containerId, timeout: 0n }));
  ended.abort();
  await reading;
  return { podSandboxId, containerId, events };
}

async function started(t: Test): Promise<Shim> {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  shim.containerd.registry.set(REFERENCE, { image: shim.image, auth: { host: 'reg.test:5000' } });
  shim.containerd.program = async (process: FakeProcess) => {
    if (process.execId === '') return;
    await process.stdout(secret('output'));
    process.exit(1);
  };
  return shim;
}

test('no secret in the log at any level, in an event or in an answer that does not show it by definition', async (t) => {
  const shim = await started(t);
  const told = new Told(shim);
  const { podSandboxId, containerId, events } = await life(shim, told);
  t.same(told.leaks(), []);
  t.ok(events.length >= 4, `${events.length} events`);
  const inEvents = new Set(events.flatMap((event) => [...event.matchAll(/hunter2-([a-z-]+)/g)].map(([, place]) => place)));
  t.same([...inEvents].filter((place) => !SHOWN.includes(place ?? '')), []);
  const { runtime } = shim.cri;
  // What crictl inspect shows is a container's own configuration, environment included; of a registry, a command or a stream there is nothing.
  const answers = [
    await runtime.podSandboxStatus({ podSandboxId, verbose: true }),
    await runtime.containerStatus({ containerId, verbose: true }),
    await runtime.status({ verbose: true }),
    await shim.cri.image.imageStatus({ image: { image: REFERENCE }, verbose: true }),
    await runtime.listContainers({}),
    await runtime.listPodSandbox({}),
  ];
  const shown = JSON.stringify(answers, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value instanceof Uint8Array ? Buffer.from(value).toString() : value));
  for (const place of ['password', 'auth', 'broken-auth', 'identity-token', 'registry-token', 'exec-sync', 'exec', 'stdin', 'output']) {
    t.notOk(new RegExp(`hunter2-${place}(?![a-z-])`).test(shown), place);
  }
});

const CALLS = [
  'transfer.transfer', 'leases.create', 'images.create', 'containers.create', 'containers.update', 'containers.get', 'snapshots.prepare', 'tasks.create', 'tasks.start', 'tasks.exec',
  'tasks.wait', 'tasks.kill', 'tasks.delete', 'tasks.update',
];

test('nor in what is said of a failure, whichever call of containerd fails', async (t) => {
  const shim = await started(t);
  for (const call of CALLS) {
    const told = new Told(shim);
    const calm = shim.containerd.control.fail(call, { code: status.UNKNOWN, details: 'it fails' });
    const { podSandboxId } = await life(shim, told);
    calm();
    t.same(told.leaks(), [], call);
    await shim.cri.runtime.stopPodSandbox({ podSandboxId }).catch(() => undefined);
    await shim.cri.runtime.removePodSandbox({ podSandboxId }).catch(() => undefined);
  }
  t.ok(shim.logLines.some((line) => line.includes('it fails')), 'the failures were logged');
});

test('nor of what is wrong in a file that may hold one: hosts.toml, a network configuration, a spec in containerd', async (t) => {
  const shim = await started(t);
  const told = new Told(shim);
  const hosts = join(shim.config.image.hostsDir, 'reg.test:5000');
  await mkdir(hosts, { recursive: true });
  await writeFile(join(hosts, 'hosts.toml'), `[host."https://mirror.test".header]\nauthorization = "Basic ${secret('header')}" oops\n`);
  const pull = await told.attempt(shim.cri.image.pullImage({ image: { image: REFERENCE }, auth: { registryToken: 'x' } }));
  t.equal(pull, undefined);
  t.match(told.errors.join(), /hosts\.toml/, 'the file is named');
  for (const text of [`{"name": "n", "password": ${secret('bare')}}`, `{"name": "n", "password": "${secret('quoted')}" "x"}`]) {
    await writeFile(join(shim.config.cni.confDir, '00-bad.conflist'), text);
    const { conditions } = await eventually(async () => {
      const now = (await shim.cri.runtime.status({ verbose: true })).status;
      if (!JSON.stringify(now).includes('00-bad.conflist')) throw new Error('not yet seen');
      return now ?? { conditions: [] };
    });
    t.notMatch(JSON.stringify(conditions), /hunter2/);
    await told.attempt(shim.runPod());
  }
  t.same(told.leaks(), []);
});
