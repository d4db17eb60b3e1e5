import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { takePrecedence } from '../src/serve/precedence.js';

const log = pino({ level: 'silent' });
const MODULE = new URL('../src/serve/precedence.js', import.meta.url).href;

/** What is in `autogroup` after the daemon looked at a `/proc` like this. */
function written(t: Test, { pid, session, name = 'node' }: { pid: number; session: number; name?: string }): string {
  const proc = t.testdir();
  mkdirSync(join(proc, 'self'));
  writeFileSync(join(proc, 'self/stat'), `${pid} (${name}) S 1 ${pid} ${session} 0 -1 4194304 1\n`);
  writeFileSync(join(proc, 'self/autogroup'), '');
  takePrecedence(log, proc);
  return readFileSync(join(proc, 'self/autogroup'), 'utf8');
}

t.test('the leader of a session, and nobody else', (t) => {
  t.equal(written(t, { pid: 12, session: 12 }), '-5');
  t.equal(written(t, { pid: 12, session: 7 }), '', 'in a shell');
  t.equal(written(t, { pid: 12, session: 12, name: 'a) R 3 3 9 (b' }), '-5', 'whatever its name');
  t.end();
});

t.test('a kernel without autogroups is no failure', (t) => {
  const proc = t.testdir();
  takePrecedence(log, proc);
  mkdirSync(join(proc, 'self'));
  writeFileSync(join(proc, 'self/stat'), '12 (node) S 1 12 12 0\n');
  takePrecedence(log, proc);
  t.notOk(existsSync(join(proc, 'self/autogroup')), 'nothing is made');
  t.end();
});

t.test('this kernel', { skip: existsSync('/proc/self/autogroup') ? false : 'it has no autogroups' }, (t) => {
  const program = `const { takePrecedence } = await import(${JSON.stringify(MODULE)}); takePrecedence({ debug: (at, text) => console.log(text, at.err) }); console.log(require('node:fs').readFileSync('/proc/self/autogroup', 'utf8'))`;
  const script = `globalThis.require = (await import('node:module')).createRequire('/'); ${program}`;
  const run = (...before: string[]) => execFileSync('setsid', ['--wait', ...before, process.execPath, '--input-type=module', '-e', script], { encoding: 'utf8' });
  t.match(run(), /nice -5$/m);
  t.match(run('sh', '-c', '"$@"; :', 'sh'), /nice 0$/m, 'not the leader');
  t.end();
});
