import { ContainerState } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import type { Moment } from '../../src/steps/failpoints.js';
import type { Place } from '../../src/steps/registry.js';
import { CALL_SCENARIOS, endEverything, scenarioCalls, stepsOf } from './call-scenarios.js';
import { eventually, Shim } from './shim-harness.js';

// The caller goes away while a call stands at a step; a deadline that passes reaches the call by the same signal (server.test.ts). What the
// call then does is its own matter: a creation, a start and a removal go on, a pull and a command end.

const MOMENTS: readonly Moment[] = ['before', 'after'];

for (const call of scenarioCalls) {
  for (const [index, step] of stepsOf(call).entries()) {
    const moment = MOMENTS[index % MOMENTS.length] ?? 'before';
    test(`the caller of ${call} goes away ${moment} "${step}": it works afterwards, and everything can be removed`, async (t) => {
      const shim = await Shim.start();
      t.teardown(() => shim.close());
      const made = await CALL_SCENARIOS[call](shim);
      const caller = new AbortController();
      let first: Promise<unknown> = Promise.resolve();
      const begin = (): void => {
        first = made({ signal: caller.signal });
        first.catch(() => undefined);
      };
      const release = await shim.failpoints.holdUntilReached(`${call}/${step}` as Place, begin, moment);
      caller.abort();
      await t.rejects(first, { code: status.CANCELLED });
      release();
      // A container is started once.
      if (call === 'StartContainer') await eventually(() => expectRunning(shim));
      else await made();
      t.same(await endEverything(shim), []);
    });
  }
}

async function expectRunning(shim: Shim): Promise<void> {
  const [container] = (await shim.cri.runtime.listContainers({})).containers;
  if (container?.state !== ContainerState.CONTAINER_RUNNING) throw new Error(`the container is ${container?.state}`);
}
