import * as fc from 'fast-check';
import { test } from 'tap';
import { eventually } from '../component/shim-harness.js';
import { criCalls, readCriMethods, showCall, type FuzzCall } from './cri-calls.js';
import { FuzzedNode } from './fuzzed-node.js';
import { fuzzingRequests, REQUESTS, SEED } from './parameters.js';

/** Calls of one life of the node: then everything is removed, and nothing may be left. */
const CALLS = 160;
/** Made at once. */
const CLIENTS = 8;
/** Descriptors that sockets and the like may hold for a moment. */
const SPARE_DESCRIPTORS = 30;

test(`${REQUESTS} requests of every call, seed ${SEED}: answered as CRI says, and nothing is left`, { timeout: 60_000 + REQUESTS * 30 }, async (t) => {
  const methods = await readCriMethods();
  const node = await FuzzedNode.start();
  t.teardown(() => node.close());
  await node.clear();
  const before = await node.openDescriptors();
  const faults = new Map<string, string>();
  let lives = 0;
  const life = async (calls: readonly FuzzCall[]) => {
    await node.populate();
    const waiting = [...calls];
    const client = async () => {
      for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
        const fault = await node.call(call);
        if (fault !== undefined) faults.set(kindOf(fault), `${fault}\n  of ${showCall(call)}`);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const complaints = node.complaints();
    if (complaints.length > 0) throw new Error(`the daemon complained: ${complaints.join('').slice(0, 2_000)}`);
    await node.clear();
    await eventually(async () => {
      const now = await node.openDescriptors();
      if (now > before + SPARE_DESCRIPTORS) throw new Error(`${now} descriptors are open, at first ${before}`);
    }, 10_000);
    if (++lives % 25 === 0) await node.restart();
    if (lives % 100 === 0) t.comment(`${lives * CALLS} requests`);
  };
  const list = fc.array(criCalls(methods), { minLength: CALLS, maxLength: CALLS });
  await fc.assert(fc.asyncProperty(list, life), fuzzingRequests(CALLS));
  t.same([...faults.values()], [], 'every answer is one that CRI knows');
  const tally = node.tally();
  t.comment([...tally].sort().map(([what, count]) => `${what} ${count}`).join(', '));
  t.comment(`covered: ${lives * CALLS} requests of ${methods.length} calls, ${tally.size} kinds of answers (seed ${SEED})`);
  for (const { name } of methods) t.ok([...tally.keys()].some((key) => key.startsWith(`${name} `)), `${name} was called`);
  for (const name of ['RunPodSandbox', 'CreateContainer', 'StartContainer', 'ExecSync']) t.ok((tally.get(`${name} OK`) ?? 0) > 0, `${name} succeeded at times`);
});

/** One example of each kind is enough. */
function kindOf(fault: string): string {
  return fault.replace(/"(?:[^"\\]|\\.)*"|'[^']*'|\d+/g, '_').slice(0, 120);
}
