import t from 'tap';
import { formatCosts } from './format-profile.js';
import { cpuCosts, heapCosts, packageOf, type CallFrame } from './self-cost.js';

const frame = (functionName: string, url = '', lineNumber = 0): CallFrame => ({ functionName, url, lineNumber });
const OWN = 'file:///x/packages/shim-server/dist/src/sandbox/run.js';
const INSTALLED = 'file:///x/node_modules/.pnpm/@grpc+grpc-js@1.14.7/node_modules/@grpc/grpc-js/build/src/call.js';

await t.test('whose a function is', async (t) => {
  t.equal(packageOf(frame('a', OWN)), '@criquet/shim-server');
  t.equal(packageOf(frame('a', INSTALLED)), '@grpc/grpc-js');
  t.equal(packageOf(frame('a', 'file:///x/packages/cli/node_modules/pino/lib/a.js')), 'pino', 'the innermost');
  t.equal(packageOf(frame('readFile', 'node:fs')), 'node');
  t.equal(packageOf(frame('(garbage collector)')), '(garbage collector)');
  t.equal(packageOf(frame('writev')), 'built in');
});

await t.test('CPU: the time of each sample is its own function\'s, and idling is none', async (t) => {
  const costs = cpuCosts({
    nodes: [
      { id: 1, callFrame: frame('run', OWN, 9) },
      { id: 2, callFrame: frame('(idle)') },
      { id: 3, callFrame: frame('run', OWN, 9) },
      { id: 4, callFrame: frame('call', INSTALLED, 1) },
    ],
    samples: [1, 2, 3, 4, 1],
    timeDeltas: [100, 5000, 200, 100, 0],
  });
  t.strictSame(costs.map(({ callFrame, self }) => [callFrame.functionName, self]), [['run', 300], ['call', 100]]);
  const text = formatCosts(costs, 'a file', 'of the time');
  t.match(text, / 75\.0 % {2}@criquet\/shim-server\n/);
  t.match(text, / 75\.0 % {2}run {2}shim-server\/dist\/src\/sandbox\/run\.js:10\n/);
  t.match(text, / 25\.0 % {2}call {2}@grpc\/grpc-js\/build\/src\/call\.js:2$/);
});

await t.test('heap: what each function allocated, wherever it was called', async (t) => {
  const leaf = (name: string, selfSize: number) => ({ callFrame: frame(name, OWN), selfSize, children: [] });
  const costs = heapCosts({ head: { callFrame: frame('(root)'), selfSize: 0, children: [leaf('a', 10), { ...leaf('b', 30), children: [leaf('a', 25)] }] } });
  t.strictSame(costs.map(({ callFrame, self }) => [callFrame.functionName, self]), [['a', 35], ['b', 30], ['(root)', 0]]);
});
