/*
 * critest, whole and unmodified: every spec passes, except those in the file `skips`. Then the specs of exec, attach and
 * port-forward again over WebSocket. `CRIQUET_E2E_REPEAT=3` does all of it three times in a row on the same node.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { enginesUnderTest, findTool, readEnvironment } from '../harness/environment.js';
import { TestNode } from '../harness/node.js';
import { runtimeUnderTest as runtime } from '../harness/on-each-engine.js';
import { formatResults } from './report.js';
import { runCritest, type CritestOptions } from './run-critest.js';
import { readSkipList, type SkipList } from './skip-list.js';
import { judge } from './verdicts.js';

/** How many specs critest 1.37 has: a report with fewer is not whole. */
const SPECS = 142;
/** Those of exec, attach and port-forward. */
const STREAMING = '\\[k8s\\.io\\] Streaming ';
const STREAMING_SPECS = 5;

/** More processes than a small machine has cores: most specs wait. */
const PARALLEL = 3;

const environment = readEnvironment();
const skips = await readSkipList(join(environment.checkout, 'test-e2e/critest/skips'));
const apparmor = (await readFile('/sys/module/apparmor/parameters/enabled', 'utf8').catch(() => '')).startsWith('Y');
const repeat = Number(process.env.CRIQUET_E2E_REPEAT ?? 1);
const logs = join(environment.checkout, 'results');
await mkdir(logs, { recursive: true });

if ((await findTool(environment, 'critest')) === undefined) {
  await t.test('critest', { skip: 'critest is not there: it is built with Go, which this machine lacks' }, () => undefined);
} else {
  for (const engine of enginesUnderTest(environment)) {
    await t.test(`critest on ${runtime}, containerd ${engine}`, async (t) => {
      const node = await TestNode.start({ engine, runtime });
      t.teardown(() => node.dispose());
      for (let round = 1; round <= repeat; round++) {
        const before = await node.state();
        const suffix = repeat === 1 ? '' : `-${round}`;
        const run = (t: Test, name: string, judged: SkipList, options: CritestOptions) =>
          runAndJudge(t, node, judged, { ...options, logFile: join(logs, `${name}-${runtime}-${engine}${suffix}.log`), timeoutMs: 600_000 });
        await t.test(`all specs, round ${round} of ${repeat}`, async (t) => {
          t.equal(await run(t, 'critest', skips, { parallel: PARALLEL }), SPECS, 'critest ran to its end');
        });
        await t.test(`streaming over WebSocket, round ${round} of ${repeat}`, async (t) => {
          const count = await run(t, 'critest-websocket', new Map(), { focus: STREAMING, websocket: true });
          t.equal(count, STREAMING_SPECS);
        });
        t.strictSame(await node.leaksSince(before), [], 'critest leaves nothing behind');
      }
    });
  }
}

/** Asserts on each spec, and returns how many there are. */
async function runAndJudge(t: Test, node: TestNode, skips: SkipList, options: CritestOptions): Promise<number> {
  const { results, seconds } = await runCritest(node, options);
  t.comment(formatResults(`critest in ${seconds.toFixed(0)} s (output: ${options.logFile ?? ''})`, results));
  for (const { name, fault } of judge(results, skips, { apparmor })) t.equal(fault, undefined, name, { log: options.logFile });
  return results.length;
}
