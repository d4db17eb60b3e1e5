import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../harness/environment.js';
import { run } from '../harness/run.js';

/** Release trees of criquet that a node changes between, put in place as `criquet-pod` does it on a node: under a daemon that runs from the one before. */
export class Releases {
  private constructor(
    private readonly directory: string,
    /** Their versions, each as CRI's Version tells it. */
    readonly versions: readonly string[],
  ) {}

  /** Makes the checkout's tree, and others that differ from it in their version only. */
  static async make(environment: Environment, directory: string): Promise<Releases> {
    const versions = ['0.1.0-upgrade.1', '0.1.0-upgrade.2'];
    await mkdir(directory, { recursive: true });
    await run(join(environment.checkout, 'scripts/release-tree'), [join(directory, 'made')], { timeoutMs: 180_000 });
    for (const version of versions) {
      await run('cp', ['-a', join(directory, 'made'), join(directory, version)]);
      const file = join(directory, version, 'lib/criquet.js');
      const text = await readFile(file, 'utf8');
      const changed = text.replace(/CRIQUET_VERSION ?= ?"[^"]+"/, `CRIQUET_VERSION="${version}"`);
      if (changed === text) throw new Error(`${file} names no version`);
      // Not in place: files of one release may be links of another.
      await rm(file);
      await writeFile(file, changed);
    }
    return new Releases(directory, versions);
  }

  /** The command of what is in place. */
  get program(): string {
    return join(this.directory, 'criquet/bin/criquet');
  }

  /** Puts a version in place; what was there goes. */
  async put(version: string): Promise<void> {
    const [place, old, fresh] = ['criquet', 'criquet.old', 'criquet.new'].map((name) => join(this.directory, name)) as [string, string, string];
    await run('cp', ['-a', join(this.directory, version), fresh]);
    await rename(place, old).catch(() => undefined);
    await rename(fresh, place);
    await rm(old, { recursive: true, force: true });
  }
}
