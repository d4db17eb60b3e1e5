/*
 * critest by hand:
 *   node test-e2e/dist/critest/main.js [--engine 2.1|2.4] [--runtime criquet|containerd] [--focus REGEXP] [--parallel N]
 *                                      [--list FILE] [--log FILE] [--websocket]
 */
import { parseArgs } from 'node:util';
import { TestNode } from '../harness/node.js';
import { formatResults } from './report.js';
import { runCritest } from './run-critest.js';
import { focusOn, listedResults, readSpecList } from './spec-list.js';

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: '2.1' },
    runtime: { type: 'string', default: 'criquet' },
    focus: { type: 'string' },
    parallel: { type: 'string' },
    list: { type: 'string' },
    log: { type: 'string' },
    websocket: { type: 'boolean', default: false },
  },
});
if (values.engine !== '2.1' && values.engine !== '2.4') throw new Error('--engine: 2.1 or 2.4');
if (values.runtime !== 'criquet' && values.runtime !== 'containerd') throw new Error('--runtime: criquet or containerd');

const listed = values.list === undefined ? undefined : await readSpecList(values.list);
const focus = values.focus ?? (listed === undefined ? undefined : focusOn(listed));
const node = await TestNode.start({ engine: values.engine, runtime: values.runtime });
try {
  const results = await runCritest(node, {
    ...(focus === undefined ? {} : { focus }),
    ...(values.parallel === undefined ? {} : { parallel: Number(values.parallel) }),
    websocket: values.websocket,
    ...(values.log === undefined ? {} : { logFile: values.log }),
  });
  const shown = listed === undefined || values.focus !== undefined ? results : listedResults(listed, results);
  console.log(formatResults(`critest on ${values.runtime}, containerd ${values.engine}`, shown));
  if (shown.some((result) => result.outcome === 'failed' || result.outcome === 'missing')) process.exitCode = 1;
} finally {
  await node.dispose();
}
