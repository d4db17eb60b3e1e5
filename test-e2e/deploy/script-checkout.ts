import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../harness/environment.js';
import { tryRun, type RunResult } from '../harness/run.js';

/** Every script of scripts/ but `criquet`, which is the command. */
export const SCRIPTS = ['bench', 'conformance', 'cri-support', 'demo', 'e2e', 'fuzz', 'generate', 'kind-e2e', 'kind-node-image', 'node-image', 'release-tree', 'test'];

/** What a script could begin with; each is written down when it is called. */
const PROGRAMS = ['apt-get', 'docker', 'e2e.test', 'ginkgo', 'go', 'kind', 'kubectl', 'npm', 'pnpm', 'unshare'];

/** A checkout that is not built, with this one's scripts and programs that do nothing but say that they were called. */
export class ScriptCheckout {
  private constructor(readonly directory: string) {}

  static async make(environment: Environment, t: { teardown: (undo: () => unknown) => unknown }): Promise<ScriptCheckout> {
    const checkout = new ScriptCheckout(await mkdtemp(join(environment.root, 'criquet-scripts-')));
    t.teardown(() => rm(checkout.directory, { recursive: true, force: true }));
    for (const path of ['scripts', 'deploy', 'LICENSE', 'package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'packages/cli/package.json', 'test-e2e/package.json']) {
      await cp(join(environment.checkout, path), join(checkout.directory, path), { recursive: true });
    }
    await mkdir(join(checkout.directory, 'tmp'));
    // As `pnpm install` would.
    await mkdir(join(checkout.directory, 'node_modules'));
    for (const program of PROGRAMS) await checkout.program(`bin/${program}`, '');
    return checkout;
  }

  /** Makes a program of the checkout; `code` comes after it was written down. */
  async program(path: string, code: string): Promise<void> {
    const file = join(this.directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `#!/bin/bash\necho "${path.replace(/.*\//, '')} $*" >>"${this.directory}/calls"\n${code}\n`);
    await chmod(file, 0o755);
  }

  /** The environment that the scripts get. */
  get env(): Record<string, string> {
    const { directory } = this;
    return { PATH: `${directory}/bin:${process.env.PATH ?? ''}`, CRIQUET_CACHE: join(directory, 'cache'), TMPDIR: join(directory, 'tmp') };
  }

  /** Runs a script to its end; gives its result and the programs that it called. */
  async run(script: string, ...words: readonly string[]): Promise<RunResult & { calls: string[] }> {
    await writeFile(join(this.directory, 'calls'), '');
    const result = await tryRun(join(this.directory, 'scripts', script), words, { cwd: this.directory, env: this.env });
    return { ...result, calls: (await readFile(join(this.directory, 'calls'), 'utf8')).split('\n').filter((call) => call !== '') };
  }
}
