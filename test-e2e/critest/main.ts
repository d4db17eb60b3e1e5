/*
 * critest by hand:
 *   node test-e2e/dist/critest/main.js [--engine 2.1|2.4] [--runtime criquet|containerd] [--focus REGEXP] [--parallel N]
 *                                      [--log FILE] [--websocket]
 * Exits 1 when a spec failed; one that skipped itself is only shown.
 */
import { parseArgs } from 'node:util';
import { countOf, oneOf, readCommandLine } from '../harness/command-line.js';
import { TestNode } from '../harness/node.js';
import { formatResults } from './report.js';
import { runCritest } from './run-critest.js';

const { values, engine, runtime, parallel } = readCommandLine(import.meta.filename, () => {
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
  const engine = oneOf('--engine', values.engine, ['2.1', '2.4']);
  const runtime = oneOf('--runtime', values.runtime, ['criquet', 'containerd']);
  const parallel = values.parallel === undefined ? undefined : countOf('--parallel', values.parallel);
  return { values, engine, runtime, parallel };
});

const node = await TestNode.start({ engine, runtime });
try {
  const { results, seconds } = await runCritest(node, {
    ...(values.focus === undefined ? {} : { focus: values.focus }),
    ...(parallel === undefined ? {} : { parallel }),
    websocket: values.websocket,
    ...(values.log === undefined ? {} : { logFile: values.log }),
  });
  console.log(formatResults(`critest on ${runtime}, containerd ${engine}, ${seconds.toFixed(0)} s`, results));
  if (results.some((result) => result.outcome === 'failed')) process.exitCode = 1;
} finally {
  await node.dispose();
}
