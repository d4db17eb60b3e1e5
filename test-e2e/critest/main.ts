/*
 * critest by hand:
 *   node test-e2e/dist/critest/main.js [--engine 2.1|2.4] [--runtime criquet|containerd] [--focus REGEXP] [--parallel N]
 *                                      [--log FILE] [--websocket]
 * Exits 1 when a spec failed; one that skipped itself is only shown.
 */
import { parseArgs } from 'node:util';
import { TestNode } from '../harness/node.js';
import { formatResults } from './report.js';
import { runCritest } from './run-critest.js';

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: '2.1' },
    runtime: { type: 'string', default: 'criquet' },
    focus: { type: 'string' },
    parallel: { type: 'string' },
    log: { type: 'string' },
    websocket: { type: 'boolean', default: false },
  },
});
if (values.engine !== '2.1' && values.engine !== '2.4') throw new Error('--engine: 2.1 or 2.4');
if (values.runtime !== 'criquet' && values.runtime !== 'containerd') throw new Error('--runtime: criquet or containerd');

const node = await TestNode.start({ engine: values.engine, runtime: values.runtime });
try {
  const { results, seconds } = await runCritest(node, {
    ...(values.focus === undefined ? {} : { focus: values.focus }),
    ...(values.parallel === undefined ? {} : { parallel: Number(values.parallel) }),
    websocket: values.websocket,
    ...(values.log === undefined ? {} : { logFile: values.log }),
  });
  console.log(formatResults(`critest on ${values.runtime}, containerd ${values.engine}, ${seconds.toFixed(0)} s`, results));
  if (results.some((result) => result.outcome === 'failed')) process.exitCode = 1;
} finally {
  await node.dispose();
}
