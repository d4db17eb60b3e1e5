import { cp, mkdir, readdir, readFile, readlink, realpath, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** `tap` depends on these, and a compiled test never loads them. */
const LEFT_OUT = new Set(['typescript']);

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Copies what a checkout runs with: compiled packages, and of node_modules what they and the end-to-end suites need. */
export async function copyCheckout(checkout: string, target: string): Promise<void> {
  const packages = [...(await readdir(join(checkout, 'packages'))).map((name) => join('packages', name)), 'test-e2e'];
  await cp(join(checkout, 'scripts', 'criquet'), join(target, 'scripts', 'criquet'));
  const modules = new ModuleCopy(checkout, target);
  for (const path of packages) {
    await cp(join(checkout, path, 'dist'), join(target, path, 'dist'), { recursive: true });
    await cp(join(checkout, path, 'package.json'), join(target, path, 'package.json'));
    const { dependencies = {} } = JSON.parse(await readFile(join(checkout, path, 'package.json'), 'utf8')) as Manifest;
    for (const name of Object.keys(dependencies)) await modules.add(join(path, 'node_modules', name));
  }
  await modules.add(join('node_modules', 'tap'));
}

/** Copies links of pnpm's node_modules and the store directories that they lead into, each once. */
class ModuleCopy {
  private readonly copied = new Set<string>();

  constructor(
    private readonly checkout: string,
    private readonly target: string,
  ) {}

  /** @param link relative to the checkout */
  async add(link: string): Promise<void> {
    await mkdir(dirname(join(this.target, link)), { recursive: true });
    await symlink(await readlink(join(this.checkout, link)), join(this.target, link));
    const store = await this.storeOf(link);
    // A package of the workspace is none of pnpm's store.
    if (store === undefined || this.copied.has(store)) return;
    this.copied.add(store);
    // It holds the package itself beside links to what the package depends on.
    for (const name of await packagesIn(join(this.checkout, store, 'node_modules'))) {
      const path = join(store, 'node_modules', name);
      if (await isLink(join(this.checkout, path))) {
        if (!LEFT_OUT.has(name)) await this.add(path);
      } else {
        await cp(join(this.checkout, path), join(this.target, path), { recursive: true, verbatimSymlinks: true });
      }
    }
  }

  /** The directory `node_modules/.pnpm/NAME@VERSION` that a link leads into. */
  private async storeOf(link: string): Promise<string | undefined> {
    const path = relative(await realpath(this.checkout), await realpath(join(this.checkout, link)));
    return /^node_modules\/\.pnpm\/[^/]+/.exec(path)?.[0];
  }
}

/** Names of the packages in a node_modules directory, scoped ones as `@scope/name`. */
async function packagesIn(modules: string): Promise<string[]> {
  const names: string[] = [];
  for (const name of await readdir(modules)) {
    if (name.startsWith('@')) names.push(...(await readdir(join(modules, name))).map((inner) => `${name}/${inner}`));
    else if (!name.startsWith('.')) names.push(name);
  }
  return names;
}

function isLink(path: string): Promise<boolean> {
  return readlink(path).then(
    () => true,
    () => false,
  );
}
