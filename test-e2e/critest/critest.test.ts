import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { enginesUnderTest, findTool, readEnvironment } from '../harness/environment.js';
import { TestNode, type Runtime } from '../harness/node.js';
import { formatResults } from './report.js';
import { runCritest } from './run-critest.js';
import { focusOn, listedResults, readSpecList } from './spec-list.js';

const environment = readEnvironment();
const runtime: Runtime = process.env.CRIQUET_E2E_RUNTIME === 'containerd' ? 'containerd' : 'criquet';
const names = await readSpecList(join(environment.checkout, 'test-e2e/critest/issue-1.txt'));
const results = join(environment.checkout, 'results');
await mkdir(results, { recursive: true });

await t.test('the list names each spec once', async (t) => {
  t.equal(new Set(names).size, names.length);
  t.ok(names.length > 80, `${names.length} specs`);
});

if ((await findTool(environment, 'critest')) === undefined) {
  await t.test('critest', { skip: 'critest is not there: it is built with Go, which this machine lacks' }, () => undefined);
} else {
  for (const engine of enginesUnderTest(environment)) {
    await t.test(`critest on ${runtime}, containerd ${engine}`, async (t) => {
      const node = await TestNode.start({ engine, runtime });
      t.teardown(() => node.dispose());
      const before = await node.state();
      const log = join(results, `critest-${runtime}-${engine}.log`);
      const listed = listedResults(names, await runCritest(node, { focus: focusOn(names), logFile: log, timeoutMs: 600_000 }));
      t.comment(formatResults(`critest on ${runtime}, containerd ${engine} (output: ${log})`, listed));
      for (const { name, outcome, message } of listed) {
        t.equal(outcome, 'passed', name, { message, log });
      }
      t.strictSame(await node.leaksSince(before), [], 'critest leaves nothing behind');
    });
  }
}
