import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';

const ROOT = join(import.meta.dirname, '../../../..');
const ADVICE = 'this checkout is not built: run pnpm install && pnpm build\n';

/** A clone as it is before anything was installed or built. */
function unbuilt(t: { testdir(): string }): string {
  const dir = t.testdir();
  for (const name of ['scripts/criquet', 'examples']) cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  return dir;
}

function run(command: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env: { PATH: process.env.PATH ?? '' } });
  return { code: status, stdout, stderr };
}

await t.test('the command of a checkout that is not built says what to do', async (t) => {
  const dir = unbuilt(t);
  t.same(run(join(dir, 'scripts/criquet'), '--help'), { code: 1, stdout: '', stderr: `criquet: ${ADVICE}` });
  mkdirSync(join(dir, 'packages/cli/dist/src'), { recursive: true });
  cpSync(join(ROOT, 'packages/cli/dist/src/main.js'), join(dir, 'packages/cli/dist/src/main.js'));
  t.same(run(join(dir, 'scripts/criquet'), '--help'), { code: 1, stdout: '', stderr: `criquet: ${ADVICE}` }, 'compiled, but not bundled');
  cpSync(join(ROOT, 'packages/cli/dist/bundle'), join(dir, 'packages/cli/dist/bundle'), { recursive: true });
  t.match(run(join(dir, 'scripts/criquet'), '--help'), { code: 0, stdout: /^Usage: criquet/ });
});

await t.test('so do the examples', async (t) => {
  const dir = unbuilt(t);
  const programs = readdirSync(join(dir, 'examples')).filter((name) => name.endsWith('.mjs') && name !== 'load.mjs');
  t.ok(programs.length >= 5);
  for (const name of programs) t.same(run(process.execPath, join(dir, 'examples', name)), { code: 1, stdout: '', stderr: ADVICE }, name);
});

await t.test('the example of a shim says in a line that containerd does not answer', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'serve-shim-'));
  t.teardown(() => rmSync(dir, { recursive: true }));
  const { code, stderr } = run(process.execPath, join(ROOT, 'examples/serve-shim.mjs'), join(dir, 'none.sock'), join(dir, 'shim'));
  t.equal(code, 1);
  t.match(stderr, /^[^\n]*cannot reach containerd at \S+none\.sock: ENOENT\n$/);
});
