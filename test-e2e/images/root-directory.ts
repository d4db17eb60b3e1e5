import { chmod, copyFile, link, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { run } from '../harness/run.js';

/** A package directory as `scripts/lib/image-packages.sh` fills it: `programs` and `libraries`, each an unpacked tree. */
export interface UnpackedPackages {
  readonly programs: string;
  readonly libraries: string;
  /** The dynamic loader among the libraries. */
  readonly loader: string;
  /** Where the loader looks for libraries, separated by colons. */
  readonly libraryPath: string;
}

/** Finds the loader and the library directories of unpacked packages. */
export async function openPackages(directory: string): Promise<UnpackedPackages> {
  const libraries = join(directory, 'libraries');
  const directories: string[] = [];
  for (const parent of [join(libraries, 'lib'), join(libraries, 'usr/lib')]) {
    for (const name of await readdir(parent).catch((): string[] => [])) {
      if (name.endsWith('-linux-gnu')) directories.push(join(parent, name));
    }
  }
  for (const candidate of directories) {
    const loader = (await readdir(candidate)).find((name) => /^ld-linux.*\.so\.\d+$/.test(name));
    if (loader !== undefined) {
      return {
        programs: join(directory, 'programs'),
        libraries,
        loader: join(candidate, loader),
        libraryPath: directories.join(':'),
      };
    }
  }
  throw new Error(`no dynamic loader below ${libraries}`);
}

/** The root directory of an image layer that is being put together. */
export class RootDirectory {
  constructor(
    readonly path: string,
    readonly packages: UnpackedPackages,
  ) {}

  /** Writes a file with its parents. `mode` is the permission bits; default 0644. */
  async file(path: string, content: string | Buffer, mode = 0o644): Promise<void> {
    const target = join(this.path, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
    await chmod(target, mode);
  }

  /** Makes a directory with its parents. */
  async directory(path: string, mode = 0o755): Promise<void> {
    const target = join(this.path, path);
    await mkdir(target, { recursive: true });
    await chmod(target, mode);
  }

  async symlink(path: string, target: string): Promise<void> {
    await mkdir(dirname(join(this.path, path)), { recursive: true });
    await symlink(target, join(this.path, path));
  }

  /**
   * Installs a program of the packages with the libraries it needs.
   *
   * @param from path within the packages, for example `usr/sbin/nginx`
   * @param to path within the image; default the same
   */
  async program(from: string, to: string = from, mode = 0o755): Promise<void> {
    const source = join(this.packages.programs, from);
    const target = join(this.path, to);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(source, target);
    await chmod(target, mode);
    await this.libraries(source);
  }

  /** Installs a file that is no package's and needs no libraries. */
  async copy(from: string, to: string, mode = 0o644): Promise<void> {
    const target = join(this.path, to);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(from, target);
    await chmod(target, mode);
  }

  /**
   * Installs busybox with all its applets as hard links to one inode, as the images of the field have it.
   *
   * @param directory where the applets are; default: each where its package says
   */
  async busybox(directory?: string): Promise<void> {
    const from = await this.first('usr/bin/busybox', 'bin/busybox');
    await this.program(from, 'bin/busybox');
    const applets = await this.load(join(this.packages.programs, from), ['--list-full']);
    for (const applet of applets.split('\n').filter((line) => line !== '' && basename(line) !== 'busybox')) {
      const target = join(this.path, directory === undefined ? applet : join(directory, basename(applet)));
      await mkdir(dirname(target), { recursive: true });
      await link(join(this.path, 'bin/busybox'), target);
    }
  }

  /** The first of some paths that is among the programs: distributions differ in `/bin` and `/usr/bin`. */
  async first(...paths: string[]): Promise<string> {
    for (const path of paths) {
      const names = await readdir(join(this.packages.programs, dirname(path))).catch((): string[] => []);
      if (names.includes(basename(path))) return path;
    }
    throw new Error(`none of ${paths.join(', ')} below ${this.packages.programs}`);
  }

  private async libraries(program: string): Promise<void> {
    const listed = await this.load('--list', [program]);
    for (const line of listed.split('\n')) {
      const library = /=> (\/\S+)/.exec(line)?.[1];
      if (line.includes('not found')) throw new Error(`${program}: ${line.trim()}`);
      if (library !== undefined) await this.install(library, join('lib', basename(dirname(library)), basename(library)));
    }
    // The loader's path is fixed in every program: /lib64/ld-linux-x86-64.so.2, /lib/ld-linux-aarch64.so.1.
    const directory = process.arch === 'x64' ? 'lib64' : 'lib';
    await this.install(this.packages.loader, join(directory, basename(this.packages.loader)));
  }

  private async install(source: string, target: string): Promise<void> {
    const path = join(this.path, target);
    await mkdir(dirname(path), { recursive: true });
    await copyFile(source, path);
    await chmod(path, 0o755);
  }

  private load(program: string, args: readonly string[]): Promise<string> {
    return run(this.packages.loader, ['--library-path', this.packages.libraryPath, program, ...args]);
  }
}
