/* How every script, and every program that a script runs, answers --help and what it does not know: at once, and before anything is built. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { readEnvironment } from '../harness/environment.js';
import { tryRun } from '../harness/run.js';
import { ScriptCheckout, SCRIPTS } from './script-checkout.js';

const environment = readEnvironment();
/** Those whose arguments are names, as many as somebody likes. */
const TAKES_NAMES = ['cri-support', 'e2e'];

export async function scriptCalls(t: Test): Promise<void> {
  const checkout = await ScriptCheckout.make(environment, t);

  for (const script of SCRIPTS) {
    await t.test(`scripts/${script}`, async (t) => {
      const head = (await readFile(join(environment.checkout, 'scripts', script), 'utf8')).split('\n')[1]?.replace(/^# /, '') ?? '';
      for (const help of ['--help', '-h']) t.match(await checkout.run(script, help), { code: 0, calls: [], stderr: '', stdout: head }, help);
      for (const words of [['--nonsense'], ['-x'], ['--nonsense=1'], ...(TAKES_NAMES.includes(script) ? [] : [['one', 'two']])]) {
        const { code, stderr, calls } = await checkout.run(script, ...words);
        t.match(stderr, /^error: unknown (option|argument) .*\n$/, `${words.join(' ')}: one line`);
        t.strictSame([code, calls], [2, []], 'and nothing else');
      }
    });
  }

  await t.test('an option without its value', async (t) => {
    for (const [script, ...words] of [['release-tree', '--tar'], ['kind-node-image', '--from', '--form'], ['kind-e2e', '--image='], ['conformance', '--suite'], ['bench', '--figures'], ['e2e', '--with']] as const) {
      t.match(await checkout.run(script, ...words), { code: 2, calls: [], stderr: /^error: --\w+: a value;.*\n$/ }, `${script} ${words.join(' ')}`);
    }
    t.match(await checkout.run('demo', 'upp'), { code: 2, calls: [], stderr: /^error: up, down or status, not upp;.*\n$/ });
  });

  await t.test('what needs a build says so', async (t) => {
    for (const [script, word] of [['conformance', '--check'], ['conformance', '--render'], ['bench', '--render'], ['cri-support', '--check']] as const) {
      t.match(await checkout.run(script, word), { code: 1, stderr: /^error: this checkout is not built: run pnpm install && pnpm build\n$/ });
    }
  });

  await t.test('programs of test-e2e: one line and no stack', async (t) => {
    for (const [program, option, value] of [
      ['bench/main.js', '--rounds', 'many'],
      ['conformance/main.js', '--procs', '0'],
      ['cri-support/main.js', '--jobs', 'x'],
      ['critest/main.js', '--engine', '1.7'],
      ['vm/main.js', '--kernel', 'none'],
    ] as const) {
      const run = (...words: string[]) => tryRun(process.execPath, [join(environment.checkout, 'test-e2e/dist', program), ...words]);
      t.match(await run('--help'), { code: 0, stderr: '', stdout: /\S/ }, program);
      t.match(await run('--nonsense'), { code: 2, stderr: /^error: Unknown option '--nonsense'.*\n$/ }, `${program} --nonsense`);
      t.match(await run(option, value), { code: 2, stderr: new RegExp(`^error: ${option}: .*\\n$`) }, `${program} ${option} ${value}`);
    }
  });
}
