import { status } from '@grpc/grpc-js';
import { CriCallError } from '@criquet/cri-api';
import { test } from 'tap';
import type { Place } from '../../src/steps/registry.js';
import { CALL_SCENARIOS, endEverything, scenarioCalls, stepsOf } from './call-scenarios.js';
import { Shim } from './shim-harness.js';

/** What a failure leaves as if nothing had happened; the others stop half-way, and are finished by the same call again. */
const TAKEN_BACK = new Set(['RunPodSandbox', 'CreateContainer']);

test('every step of every call is reached, and none that the registry does not have for it', async (t) => {
  for (const call of scenarioCalls) {
    const shim = await Shim.start();
    const made = await CALL_SCENARIOS[call](shim);
    await made();
    const reached = shim.failpoints.reached.filter((place) => place.startsWith(`${call}/`) && !place.includes('/undo: '));
    t.same([...new Set(reached)].sort(), stepsOf(call).map((step) => `${call}/${step}`).sort(), call);
    await shim.close();
  }
});

for (const call of scenarioCalls) {
  for (const [index, step] of stepsOf(call).entries()) {
    // After one step is before the next.
    for (const moment of index === 0 ? (['before', 'after'] as const) : (['after'] as const)) {
      test(`${call} fails ${moment} "${step}": the message says so, a retry works, and nothing is left`, async (t) => {
        const shim = await Shim.start();
        t.teardown(() => shim.close());
        const made = await CALL_SCENARIOS[call](shim);
        const before = await shim.leftovers();
        shim.failpoints.fail(`${call}/${step}` as Place, { moment });
        await t.rejects(made(), { code: status.INTERNAL, details: new RegExp(`(^|: )${step}: failpoint$`) });
        if (TAKEN_BACK.has(call)) t.same(await shim.leftovers(), before, 'as before');
        shim.failpoints.clear();
        if (call === 'StartContainer') await expectStartError(t, shim, `${step}: failpoint`);
        else await made();
        t.same(await endEverything(shim), []);
      });
    }
  }
}

async function expectStartError(t: { match(found: unknown, wanted: object): void }, shim: Shim, message: string): Promise<void> {
  const [container] = (await shim.cri.runtime.listContainers({})).containers;
  const { status: found } = await shim.cri.runtime.containerStatus({ containerId: container?.id ?? '' });
  t.match(found, { exitCode: 128, reason: 'StartError', message });
}

test('a failed undo leaves the sandbox visible, not ready and removable', async (t) => {
  let refuse = true;
  const shim = await Shim.start({
    plugins: {
      net: ({ command }) => {
        if (refuse) throw new Error(`no ${command}`);
        return undefined;
      },
    },
  });
  t.teardown(() => shim.close());
  const error = await shim.runPod().catch((reason: unknown) => reason);
  t.ok(error instanceof CriCallError && error.details.startsWith('attach to the pod network: '));
  const { items } = await shim.cri.runtime.listPodSandbox({});
  t.match(items, [{ state: 1, metadata: { name: 'pod' } }]);
  refuse = false;
  const podSandboxId = items[0]?.id ?? '';
  await shim.cri.runtime.stopPodSandbox({ podSandboxId });
  await shim.cri.runtime.removePodSandbox({ podSandboxId });
  t.same(await shim.leftovers(), []);
});
