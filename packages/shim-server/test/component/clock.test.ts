import { readFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { status as grpc } from '@grpc/grpc-js';
import { test, type Test } from 'tap';
import { SpdyClient } from '../streaming/support/spdy-client.js';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

// The clock of the node is set while the daemon runs, and while it does not.

const HOUR = 3_600_000;
const KILL = 9;

/** The time of day of this process; every timer of Node's goes on as before. */
class NodeClock {
  private readonly true = Date.now;
  private ahead = 0;

  constructor(t: Test) {
    Date.now = () => this.true() + this.ahead;
    t.teardown(() => (Date.now = this.true));
  }

  set(hours: number): void {
    this.ahead += hours * HOUR;
  }
}

async function exited(shim: Shim, containerId: string) {
  return eventually(async () => {
    const { status } = await shim.cri.runtime.containerStatus({ containerId });
    if (status?.state !== 2) throw new Error('not exited');
    return status;
  });
}

for (const hours of [-3, 3]) {
  const how = hours < 0 ? 'back' : 'forward';

  test(`a stop waits as long as it was asked to when the clock is set ${how}`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const clock = new NodeClock(t);
    shim.run((process) => process.onSignal(() => undefined));
    const containerId = await shim.startContainer(await shim.runPod());
    const process = shim.containerd.process(NAMESPACE, containerId);
    const began = performance.now();
    const stopped = shim.cri.runtime.stopContainer({ containerId, timeout: 2n });
    while (process.signals.length === 0) await pause(10);
    clock.set(hours);
    await Promise.race([stopped, pause(15_000, undefined, { ref: false })]);
    const took = performance.now() - began;
    t.ok(took >= 1_900 && took < 14_000, `SIGKILL after ${Math.round(took)} ms`);
    t.equal(process.signals.at(-1), KILL);
  });

  test(`times of what lives while the clock is set ${how}: nothing ends before it began`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const clock = new NodeClock(t);
    const pod = await shim.runPod();
    const created = await shim.createContainer(pod, { metadata: { name: 'created', attempt: 0 }, logPath: 'c.log' });
    const containerId = await shim.startContainer(pod);
    const process = shim.containerd.process(NAMESPACE, containerId);
    await process.stdout('before\n');
    await eventually(async () => t.equal((await shim.log()).length, 1));
    clock.set(hours);
    await process.stdout('after\n');
    process.exit(5);
    // As containerd's clock shows it.
    process.exitedAt = BigInt(Date.now()) * 1_000_000n;
    const status = await exited(shim, containerId);
    t.equal(status.exitCode, 5);
    t.ok(status.createdAt <= status.startedAt && status.startedAt <= status.finishedAt, `created ${status.createdAt}, started ${status.startedAt}, finished ${status.finishedAt}`);
    const log = await readFile(join(shim.dir, 'logs/app/0.log'), 'utf8');
    t.match(log, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F before\n\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F after\n$/);
    await shim.cri.runtime.startContainer({ containerId: created });
    const other = (await shim.cri.runtime.containerStatus({ containerId: created })).status;
    t.ok((other?.startedAt ?? 0n) >= (other?.createdAt ?? 1n), 'created before, started after');
  });

  test(`attempts that follow each other while the clock is set ${how}: the last one was created last`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const clock = new NodeClock(t);
    const { runtime } = shim.cri;
    const pods = [await shim.runPod()];
    const containers = [await shim.createContainer(pods[0] ?? '')];
    clock.set(hours);
    containers.push(await shim.createContainer(pods[0] ?? '', { metadata: { name: 'app', attempt: 1 } }));
    await runtime.stopPodSandbox({ podSandboxId: pods[0] ?? '' });
    pods.push(await shim.runPod({ metadata: { name: 'pod', namespace: 'ns', uid: 'uid-1', attempt: 1 } }));
    containers.push(await shim.createContainer(pods[1] ?? '', { metadata: { name: 'app', attempt: 2 } }));
    const sandboxTimes = new Map((await runtime.listPodSandbox({})).items.map(({ id, createdAt }) => [id, createdAt]));
    const times = new Map((await runtime.listContainers({})).containers.map(({ id, createdAt }) => [id, createdAt]));
    for (const [index, id] of pods.entries()) t.ok(index === 0 || (sandboxTimes.get(id) ?? 0n) > (sandboxTimes.get(pods[index - 1] ?? '') ?? 0n), `sandbox ${index}`);
    for (const [index, id] of containers.entries()) t.ok(index === 0 || (times.get(id) ?? 0n) > (times.get(containers[index - 1] ?? '') ?? 0n), `container ${index}`);
    const other = await shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
    const { status } = await runtime.podSandboxStatus({ podSandboxId: other });
    t.ok((status?.createdAt ?? 0n) <= BigInt(Date.now()) * 1_000_000n, 'another pod has the time of the clock');
  });

  test(`the clock is set ${how} between stop and start: all is as it was`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const clock = new NodeClock(t);
    const pod = await shim.runPod();
    const containerId = await shim.startContainer(pod);
    const before = (await shim.cri.runtime.containerStatus({ containerId })).status;
    await shim.stopServing();
    clock.set(hours);
    await shim.restart();
    t.same((await shim.cri.runtime.containerStatus({ containerId })).status, before);
    t.match((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status, { state: 0 });
    shim.containerd.process(NAMESPACE, containerId).exit(6);
    const status = await exited(shim, containerId);
    t.ok(status.exitCode === 6 && status.finishedAt >= status.startedAt);
    await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
    t.same(await shim.leftovers(), []);
  });

  test(`a URL, a time limit, and figures that are kept for a while, when the clock is set ${how}`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const clock = new NodeClock(t);
    await mkdir(join(shim.containerd.dir, 'root/io.containerd.snapshotter.v1.overlayfs'), { recursive: true });
    shim.run((process) => void process.onSignal(() => undefined));
    const containerId = await shim.startContainer(await shim.runPod());
    const { url } = await shim.cri.runtime.exec({ containerId, cmd: ['x'], stdout: true });
    await shim.cri.image.imageFsInfo({});
    const began = performance.now();
    const limited = shim.cri.runtime.execSync({ containerId, cmd: ['x'], timeout: 1n });
    limited.catch(() => undefined);
    await pause(200);
    clock.set(hours);
    await t.rejects(limited, { code: grpc.DEADLINE_EXCEEDED });
    const took = performance.now() - began;
    t.ok(took >= 900 && took < 8_000, `the command was ended after ${Math.round(took)} ms`);
    const client = await SpdyClient.connect(url, ['v4.channel.k8s.io']);
    t.ok(client, 'the URL is as old as it is');
    client.socket.destroy();
    const { imageFilesystems } = await shim.cri.image.imageFsInfo({});
    t.equal(imageFilesystems.length, 1);
    const events = shim.cri.runtime.getContainerEvents({})[Symbol.asyncIterator]();
    const first = events.next();
    await pause(100);
    clock.set(-hours);
    await shim.cri.runtime.stopContainer({ containerId });
    t.match(await first, { value: { containerId, containerEventType: 2 } }, 'events go on');
    await events.return?.();
  });
}
