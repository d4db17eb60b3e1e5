import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { ProcessPluginRunner } from '../../src/plugin/process-plugin-runner.js';

/** Nothing of Node's happens meanwhile. */
function stall(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test('a plugin whose end is told before its output, by a process that is stalled then: the output is not lost', async (t) => {
  const dir = t.testdir();
  const plugin = join(dir, 'plugin');
  const go = join(dir, 'go');
  writeFileSync(plugin, `#!/bin/sh\nuntil [ -e ${go} ]; do sleep 0.01; done\necho '{"said":true}'\n`);
  chmodSync(plugin, 0o755);
  const run = new ProcessPluginRunner({ drainMs: 1 }).run({ path: plugin, env: { PATH: process.env.PATH ?? '' }, stdin: '', timeoutMs: 20_000 });
  // One child that ends and one that speaks, noticed at once: libuv looks at all children when it has heard of the end of one, after it has read.
  const ending = spawn('sh', ['-c', 'read line'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const speaking = spawn('cat', [], { stdio: ['pipe', 'pipe', 'ignore'] });
  await Promise.all([once(ending, 'spawn'), once(speaking, 'spawn')]);
  speaking.stdout.once('data', () => {
    writeFileSync(go, '');
    stall(1_000);
  });
  ending.once('exit', () => stall(100));
  ending.stdin.write('\n');
  speaking.stdin.write('x');
  setImmediate(() => stall(500));
  t.match(await run, { exitCode: 0, stdout: '{"said":true}\n' });
  speaking.stdin.end();
  await once(speaking, 'exit');
});
