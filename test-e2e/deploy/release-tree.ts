/* scripts/release-tree that is cut off, or cannot write its archive; the tree itself is in images.test.ts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { readEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { run } from '../harness/run.js';
import { ScriptCheckout } from './script-checkout.js';

const environment = readEnvironment();

export async function cutOffReleaseTree(t: Test): Promise<void> {
  const checkout = await ScriptCheckout.make(environment, t);
  const { directory } = checkout;
  const out = join(directory, 'out');
  const version = /^PNPM_VERSION=(.*)$/m.exec(await readFile(join(environment.checkout, 'scripts/versions.env'), 'utf8'))?.[1] ?? '';
  /** pnpm, as far as the script needs it. */
  const pnpm = (build: string): Promise<void> => checkout.program('bin/pnpm', `case $* in --version) echo ${version} ;; *build*) ${build} ;; esac`);
  await pnpm('mkdir -p packages/cli/dist/bundle && echo >packages/cli/dist/bundle/criquet.js');
  /** What copies the bundle into the tree does `more` after it. */
  const copying = (more: string): Promise<void> => checkout.program('bin/cp', `/bin/cp "$@" && ${more}`);
  await mkdir(out);

  await t.test('a tree that is cut off leaves nothing, and the next run is not in its way', async (t) => {
    await copying(`: >"${directory}/begun" && sleep 60`);
    const script = spawn(join(directory, 'scripts/release-tree'), [join(out, 'tree')], { env: { ...process.env, ...checkout.env }, stdio: 'ignore', detached: true });
    const ended = once(script, 'exit');
    await eventually(() => access(join(directory, 'begun')), 20_000);
    // As Ctrl-C does: the whole group.
    process.kill(-(script.pid ?? 0), 'SIGINT');
    t.strictSame(await ended, [130, null]);
    t.strictSame(await readdir(out), []);

    await copying('exit 7');
    t.match(await checkout.run('release-tree', join(out, 'tree')), { code: 1, stderr: /the bundle could not be copied/ });
    t.strictSame(await readdir(out), []);

    await copying('true');
    t.match(await checkout.run('release-tree', '--tar', join(out, 'tree.tar'), join(out, 'tree')), { code: 0 });
    t.strictSame((await readdir(out)).sort(), ['tree', 'tree.tar']);
    t.strictSame((await readdir(join(out, 'tree'))).sort(), ['bin', 'lib', 'libexec', 'release', 'share']);
    t.match(await run('tar', ['-tf', join(out, 'tree.tar')]), 'criquet/libexec/criquet-node\n');
    t.match(await checkout.run('release-tree', join(out, 'tree')), { code: 1, stderr: /is there already/, calls: [] });
  });

  await t.test('an archive that cannot be written is found before the build', async (t) => {
    for (const archive of [join(out, 'none/x.tar'), out]) {
      t.match(await checkout.run('release-tree', '--tar', archive, join(out, 'other')), { code: 1, stderr: /cannot be written/, calls: [] });
    }
  });
}
