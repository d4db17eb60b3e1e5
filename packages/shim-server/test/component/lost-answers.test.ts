import { status } from '@grpc/grpc-js';
import { CriCallError } from '@criquet/cri-api';
import { test } from 'tap';
import { eventually, Shim } from './shim-harness.js';

// Every call that the daemon makes to containerd during a pod's life fails once, before containerd did anything or after it did all
// and only the answer was lost. The caller does what the kubelet does: it calls again.

const ATTEMPTS = 4;

async function again<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof CriCallError)) throw error;
    }
  }
}

/** A pod with one container from its beginning to its end; returns what is left of it. */
async function life(shim: Shim): Promise<string[]> {
  const { runtime } = shim.cri;
  const podSandboxId = await again(() => shim.runPod());
  // A container that containerd could not start has exited; the kubelet makes the next one.
  let attempt = 0;
  const running = async () => {
    const metadata = { name: 'app', attempt };
    const containerId = await again(() => shim.createContainer(podSandboxId, { metadata }));
    try {
      await again(() => runtime.startContainer({ containerId }));
    } catch (error) {
      const { status: container } = await runtime.containerStatus({ containerId });
      if (container?.state === 2) attempt += 1;
      if (container?.state !== 1) throw error;
    }
    return containerId;
  };
  const containerId = await again(running);
  const { stdout } = await again(() => runtime.execSync({ containerId, cmd: ['say'] }));
  if (Buffer.from(stdout).toString() !== 'hi') throw new Error(`exec said ${Buffer.from(stdout).toString()}`);
  await again(() => runtime.stopContainer({ containerId, timeout: 5n }));
  const { status: ended } = await runtime.containerStatus({ containerId });
  if (ended?.exitCode !== 143) throw new Error(`ended with ${ended?.exitCode} ${ended?.reason}`);
  await again(() => runtime.removeContainer({ containerId }));
  await again(() => runtime.stopPodSandbox({ podSandboxId }));
  await again(() => runtime.removePodSandbox({ podSandboxId }));
  const { items } = await runtime.listPodSandbox({});
  return [...items.map(({ id }) => `sandbox ${id}`), ...(await shim.leftovers())];
}

async function start(): Promise<Shim> {
  const shim = await Shim.start();
  shim.containerd.program = async (process) => {
    if (process.execId === '') return;
    await process.stdout('hi');
    process.exit(0);
  };
  return shim;
}

/** Calls that are made over and over, or that nobody waits for. */
const LEFT_OUT = /^(version|introspection|events|images|content)\.|^containers\.listStream$/;

const probe = await start();
await life(probe);
await probe.close();
const seen = new Map<string, number>();
for (const { name } of probe.containerd.control.calls) if (!LEFT_OUT.test(name)) seen.set(name, (seen.get(name) ?? 0) + 1);

/** containerd away, or back too late with its answer; and an error of its own. */
const failures = [
  { code: status.UNAVAILABLE, afterwards: false },
  { code: status.UNAVAILABLE, afterwards: true },
  { code: status.UNKNOWN, afterwards: true },
];

for (const [name, times] of seen) {
  for (const { code, afterwards } of failures) {
    test(`${name} (${times} times a life) fails ${afterwards ? 'after its work' : 'at once'} with ${status[code]}`, async (t) => {
      const shim = await start();
      t.teardown(() => shim.close());
      for (let skip = 0; skip < times; skip++) {
        const remove = shim.containerd.control.fail(name, { code, details: 'answer lost', times: 1, skip, afterwards });
        t.same(await settled(shim, await life(shim)), [], `call ${skip + 1} of ${times}`);
        remove();
      }
    });
  }
}

/** What is owed is done in the background, within seconds. */
async function settled(shim: Shim, left: string[]): Promise<string[]> {
  if (left.length === 0) return left;
  try {
    return await eventually(async () => {
      const found = await shim.leftovers();
      if (found.length > 0) throw new Error('left');
      return found;
    }, 3_000);
  } catch {
    return left;
  }
}
