import { spawnSync } from 'node:child_process';
import { access, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, credentials, status } from '@grpc/grpc-js';
import { CgroupDriver, CriCallError, connectCri, ImageServiceService, RuntimeServiceService } from '@criquet/cri-api';
import { test } from 'tap';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

test('every call of CRI is served', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const client = new Client(shim.config.listen, credentials.createInsecure());
  t.teardown(() => client.close());
  for (const [key, method] of [...Object.entries(RuntimeServiceService), ...Object.entries(ImageServiceService)]) {
    const name = method.path.slice(method.path.lastIndexOf('/') + 1);
    const error = await new Promise<{ code: status; details: string } | null>((resolve) => {
      const noBytes = () => Buffer.alloc(0);
      if (method.responseStream) {
        const stream = client.makeServerStreamRequest(method.path, noBytes, (bytes: Buffer) => bytes, {});
        // Events go on for ever.
        if (key === 'getContainerEvents') stream.on('metadata', () => stream.cancel());
        stream
          .on('error', (reason: unknown) => resolve(reason as { code: status; details: string }))
          .on('end', () => resolve(null))
          .resume();
      } else client.makeUnaryRequest(method.path, noBytes, (bytes: Buffer) => bytes, {}, (reason) => resolve(reason));
    });
    t.not(error?.code, status.UNIMPLEMENTED, name);
  }
});

test('Version, RuntimeConfig and Status say what the kubelet insists on', async (t) => {
  const shim = await Shim.start({
    change: (config) => {
      const runc = config.runtime.handlers.runc;
      if (runc === undefined) throw new Error('no runc');
      return { ...config, runtime: { ...config.runtime, handlers: { runc: { ...runc, systemdCgroup: true }, other: runc } } };
    },
  });
  t.teardown(() => shim.close());
  const { runtime } = shim.cri;
  t.match(await runtime.version({ version: 'whatever' }), { version: '0.1.0', runtimeName: 'criquet', runtimeVersion: /^\d/, runtimeApiVersion: 'v1' });
  t.match(await runtime.runtimeConfig({}), { linux: { cgroupDriver: 0 } }, 'SYSTEMD');
  const { status: now, info } = await runtime.status({});
  t.same(now?.conditions.map(({ type, status: ready }) => [type, ready]), [['RuntimeReady', true], ['NetworkReady', true], ['CheckpointReady', true]]);

  t.same(info, {});
  const verbose = (await runtime.status({ verbose: true })).info;
  t.match(JSON.parse(verbose.config ?? 'null'), { listen: shim.config.listen });
  for (const text of Object.values(verbose)) t.doesNotThrow(() => JSON.parse(text), text);
});

test('Status, verbose, tells how long the event loop kept others waiting since it last told', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const read = async () => JSON.parse((await shim.cri.runtime.status({ verbose: true })).info.eventLoopDelay ?? '{}') as Record<'p50' | 'p99' | 'max' | 'seconds', number>;
  await read();
  // The daemon lives in this process: whoever holds it up holds up the daemon.
  const blocked = (milliseconds: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
  await pause(250);
  blocked(700);
  await pause(250);
  const held = await read();
  // The sample that was due meanwhile, at most a tenth of a second into it.
  t.ok(held.max >= 500 && held.p99 >= 500, JSON.stringify(held));
  t.ok(held.p50 < held.max / 2 && held.seconds >= 1.2, JSON.stringify(held));
  await pause(1_000);
  const free = await read();
  t.ok(free.max < 500 && free.seconds < held.seconds + 1, `none of it is told twice: ${JSON.stringify(free)}`);
});

test('RuntimeConfig: the cgroup driver is cgroupfs by default', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  t.match(await shim.cri.runtime.runtimeConfig({}), { linux: { cgroupDriver: CgroupDriver.CGROUPFS } });
});

test('a handler is echoed, and its tasks are made with its options', async (t) => {
  const shim = await Shim.start({
    change: (config) => {
      const runc = config.runtime.handlers.runc;
      if (runc === undefined) throw new Error('no runc');
      return { ...config, runtime: { ...config.runtime, handlers: { runc, special: { ...runc, runtimeType: 'io.containerd.special.v1', runtimePath: '/opt/shim' } } } };
    },
  });
  t.teardown(() => shim.close());
  const { podSandboxId } = await shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig(), runtimeHandler: 'special' });
  t.equal((await shim.cri.runtime.listPodSandbox({})).items[0]?.runtimeHandler, 'special');
  const containerId = await shim.startContainer(podSandboxId);
  t.same([podSandboxId, containerId].map((id) => shim.containerd.state(NAMESPACE).containers.get(id)?.runtime?.name), ['io.containerd.special.v1', 'io.containerd.special.v1']);
  t.ok(shim.containerd.control.requests('tasks.create').every((request) => (request as { runtimePath: string }).runtimePath === '/opt/shim'));
});

test('the socket is for root and its group', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { mode } = await stat(shim.config.listen.replace('unix://', ''));
  t.equal(mode & 0o777, 0o660);
});

test('a deadline and a cancel of the caller reach the call, and are told as such', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const release = shim.failpoints.hold('RunPodSandbox/plan');
  t.teardown(release);
  await t.rejects(shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig() }, { timeoutMs: 200 }), { code: status.DEADLINE_EXCEEDED });
  const abort = new AbortController();
  const cancelled = shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig() }, { signal: abort.signal });
  setTimeout(() => abort.abort(), 100);
  await t.rejects(cancelled, { code: status.CANCELLED });
  await eventually(() => {
    const codes = shim.logLines.map((line) => JSON.parse(line) as { call?: string; code?: string }).filter(({ call, code }) => call === 'RunPodSandbox' && code !== undefined);
    if (codes.length < 2) throw new Error('not yet logged');
    t.same(codes.map(({ code }) => code), ['DEADLINE_EXCEEDED', 'CANCELLED']);
  });
});

test('the log of a call carries its ids, and nothing of what a request holds', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod({ annotations: { secret: 'hunter2' } });
  const containerId = await shim.startContainer(pod, { envs: [{ key: 'PASSWORD', value: Buffer.from('hunter2') }], args: ['--token=hunter2'] });
  await shim.cri.runtime.execSync({ containerId, cmd: ['login', 'hunter2'] });
  shim.containerd.control.fail('tasks.exec', { details: 'refused', times: 1 });
  await t.rejects(shim.cri.runtime.execSync({ containerId, cmd: ['login', 'hunter2'] }), { code: status.UNKNOWN });
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  const lines = shim.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
  t.ok(lines.some(({ call, podSandboxId }) => call === 'StopPodSandbox' && podSandboxId === pod));
  t.ok(lines.some(({ call, containerId: id, code }) => call === 'ExecSync' && id === containerId && code === 'UNKNOWN'));
  t.notOk(shim.logLines.some((line) => line.includes('hunter2')));
});

test('a second daemon on the same state or root directory is refused', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const other = { ...shim.config, listen: `unix://${join(shim.dir, 'other.sock')}` };
  await t.rejects(shim.startServer(other), { message: /state_dir .*another criquet uses it/ });
  await t.rejects(shim.startServer({ ...other, stateDir: join(shim.dir, 'state-2') }), { message: /root_dir .*another criquet uses it/ });
  t.equal((await shim.cri.runtime.version({})).version, '0.1.0');
});

test('a second daemon in the same namespace of containerd is refused, whatever else is its own', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const other = { ...shim.config, listen: `unix://${join(shim.dir, 'other.sock')}`, stateDir: join(shim.dir, 'state-2'), rootDir: join(shim.dir, 'root-2') };
  await t.rejects(shim.startServer(other), { message: /another criquet serves its namespace k8s\.io/ });
});

test('a second daemon on the same socket is refused before it touches anything', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await shim.pauseRuns(pod);
  let creation: Promise<string> | undefined;
  const release = await shim.failpoints.holdUntilReached('CreateContainer/look up the user', () => (creation = shim.createContainer(pod)));
  await eventually(() => {
    if (shim.containerd.control.requests('tasks.wait').length === 0) throw new Error('the daemon does not wait for the pause process yet');
  });
  const before = shim.containerd.control.calls.length;
  await t.rejects(shim.startServer({ ...shim.config, stateDir: join(shim.dir, 'state-2') }), { message: /another process serves this socket/ });
  const touched = shim.containerd.control.calls.slice(before).filter(({ name }) => /^(tasks|snapshots|containers\.(delete|update))/.test(name));
  t.same(touched.map(({ name }) => name), []);
  release();
  t.match(await creation, /^[0-9a-f]{64}$/);
});

test('a socket that nobody serves any more is replaced, and something else in its place is not', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.stopServing();
  const path = shim.config.listen.replace('unix://', '');
  await t.rejects(access(path), { code: 'ENOENT' }, 'the socket is gone after a shutdown');
  // A process that dies leaves its socket behind.
  spawnSync(process.execPath, ['-e', `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`]);
  t.ok((await stat(path)).isSocket());
  await shim.serve();
  const cri = shim.connect();
  t.equal((await cri.runtime.version({})).version, '0.1.0');
  await shim.stopServing();
  await writeFile(path, 'precious');
  await t.rejects(shim.serve(), { message: new RegExp(path) });
  t.ok((await stat(path)).isFile(), 'a file is left alone');
});

test('another process serves the socket', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.stopServing();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(shim.config.listen.replace('unix://', ''), resolve));
  t.teardown(() => server.close());
  await t.rejects(shim.serve(), { message: /another process serves this socket/ });
});

test('shutdown: a call under way gets its answer, a new one is refused, the socket goes, containers stay', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  let call: Promise<string> | undefined;
  const metadata = { name: 'late', namespace: 'ns', uid: 'u2' };
  const release = await shim.failpoints.holdUntilReached('RunPodSandbox/create the pause process', () => (call = shim.runPod({ metadata })));
  const stopped = shim.stopServing();
  await new Promise((resolve) => setTimeout(resolve, 100));
  await t.rejects(shim.cri.runtime.version({}), { code: status.UNAVAILABLE }, 'on the same connection');
  const fresh = connectCri({ endpoint: shim.config.listen });
  t.teardown(() => fresh.close());
  await t.rejects(fresh.runtime.version({}, { timeoutMs: 1_000 }), { code: status.UNAVAILABLE }, 'on a new one');
  release();
  t.match(await call, /^[0-9a-f]{64}$/);
  await stopped;
  await t.rejects(access(shim.config.listen.replace('unix://', '')), { code: 'ENOENT' });
  t.equal(shim.containerd.process(NAMESPACE, containerId).status, 2);
  await shim.serve();
  const cri = shim.connect();
  t.equal((await cri.runtime.listPodSandbox({})).items.length, 2);
});

test('shutdown: a call that does not end is cut off within 5 s', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const release = shim.failpoints.hold('RunPodSandbox/plan');
  t.teardown(release);
  const call = shim.runPod().catch((error: unknown) => error);
  await eventually(() => {
    if (!shim.failpoints.reached.includes('RunPodSandbox/plan')) throw new Error('not begun');
  });
  const began = Date.now();
  await shim.stopServing();
  t.ok(Date.now() - began < 5_000);
  t.ok((await call) instanceof CriCallError);
});

test('containerd\'s CRI plugin in the same namespace: refused, with the way out', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.stopServing();
  shim.containerd.plugins.push({ type: 'io.containerd.grpc.v1', id: 'cri' });
  await t.rejects(shim.serve(), { message: /k8s\.io.*disabled_plugins.*containerd\.namespace/s });
  const other = await shim.startServer({ ...shim.config, containerd: { ...shim.config.containerd, namespace: 'criquet' } });
  await other.stop();
  t.pass('another namespace is fine');
});

test('a containerd that cannot serve: what is missing is said, nothing stays behind', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.stopServing();
  shim.containerd.version = '1.7.24';
  await t.rejects(shim.serve(), { message: /containerd 1\.7\.24: .*Transfer.*2\.1/ });
  shim.containerd.version = '2.1.9';
  await t.rejects(shim.startServer({ ...shim.config, containerd: { ...shim.config.containerd, snapshotter: 'absent' } }), { message: /snapshotter absent/ });
  const plugins = shim.containerd.plugins;
  shim.containerd.plugins = plugins.filter(({ id }) => id !== 'transfer' && id !== 'leases');
  await t.rejects(shim.serve(), { message: /transfer.*|leases.*/ });
  shim.containerd.plugins = plugins;
  await shim.serve();
});

test('containerd is not there at the start: waited for, and told when it does not come', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.stopServing();
  shim.containerd.stop();
  const impatient = { ...shim.config, containerd: { ...shim.config.containerd, connectTimeout: 300 } };
  await t.rejects(shim.startServer(impatient), { message: /containerd\.address .*nobody answered within 0\.3 s/ });
  const starting = shim.serve();
  await new Promise((resolve) => setTimeout(resolve, 500));
  await shim.containerd.listen();
  await starting;
});
