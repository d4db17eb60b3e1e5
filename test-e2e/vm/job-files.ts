import { chmod, cp, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { Environment } from '../harness/environment.js';
import { run } from '../harness/run.js';
import { GUEST, type GuestJob } from './guest-job.js';

/** Suites in the guest use `tap`, which never loads these. */
const LEFT_OUT = new Set(['typescript']);

/**
 * Lays out the job's disk in a directory: criquet as it is built here, Node, the programs and images of the end-to-end suites, the job
 * and the script `run`.
 *
 * @param slowness how many times slower than here the guest is; the suites' time limits grow by it
 */
export async function layOutJob(directory: string, environment: Environment, job: GuestJob, slowness: number): Promise<void> {
  const inGuest = (...path: string[]): string => join(GUEST.job, ...path);
  const copy = async (source: string, ...path: string[]): Promise<string> => {
    await mkdir(join(directory, dirname(join(...path))), { recursive: true });
    await run('cp', ['-a', '--dereference', source, join(directory, ...path)]);
    return inGuest(...path);
  };
  await mkdir(directory, { recursive: true });
  await copy(process.execPath, 'bin', 'node');
  const variables: Record<string, string> = {
    CRIQUET_E2E_ROOT: GUEST.nodes,
    CRIQUET_E2E_SLOWNESS: String(slowness),
    CRIQUET_E2E_REGISTRY: await copy(environment.registryProgram, 'bin', 'docker-registry'),
    CRIQUET_E2E_IMAGES: await copy(environment.registryStorage, 'images'),
    CRIQUET_E2E_CNI_BIN: await copy(environment.cniBinDir, 'cni'),
  };
  for (const [engine, source] of Object.entries(environment.containerd)) {
    for (const program of ['containerd', 'containerd-shim-runc-v2', 'ctr']) {
      await copy(join(source, program), `containerd-${engine}`, program);
    }
    variables[`CRIQUET_E2E_CONTAINERD_${engine.replace('.', '')}`] = inGuest(`containerd-${engine}`);
  }
  const tools: string[] = [];
  for (const source of environment.tools) tools.push(await copy(source, 'tools', basename(source)));
  variables.CRIQUET_E2E_TOOLS = tools.join(':');
  await copyCheckout(environment.checkout, join(directory, 'checkout'));
  await writeFile(join(directory, 'job.json'), JSON.stringify(job));
  await writeFile(join(directory, 'run'), runScript(variables, inGuest('checkout', 'test-e2e', 'dist', 'vm', 'in-guest.js')));
  await chmod(join(directory, 'run'), 0o755);
}

function runScript(variables: Readonly<Record<string, string>>, program: string): string {
  const exports = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`);
  return `#!/bin/sh
${exports.join('\n')}
export PATH=${GUEST.job}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
exec node ${program}
`;
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Copies what a checkout runs with: compiled packages, and of node_modules what they depend on when they run. */
async function copyCheckout(checkout: string, target: string): Promise<void> {
  const packages = (await readdir(join(checkout, 'packages'))).map((name) => join('packages', name));
  for (const path of [...packages, 'test-e2e']) {
    for (const part of ['package.json', 'dist']) {
      await cp(join(checkout, path, part), join(target, path, part), { recursive: true });
    }
  }
  await cp(join(checkout, 'scripts', 'criquet'), join(target, 'scripts', 'criquet'));
  const copied = new Set<string>();
  for (const path of [...packages, 'test-e2e']) {
    await copyDependencies(checkout, target, join(checkout, path), copied);
  }
  await copyLink(checkout, target, join(checkout, 'node_modules'), 'tap', copied);
}

/** Copies the links below a package's node_modules, and the packages that they lead to. */
async function copyDependencies(checkout: string, target: string, directory: string, copied: Set<string>): Promise<void> {
  const { dependencies = {} } = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')) as Manifest;
  for (const name of Object.keys(dependencies)) await copyLink(checkout, target, join(directory, 'node_modules'), name, copied);
}

async function copyLink(checkout: string, target: string, modules: string, name: string, copied: Set<string>): Promise<void> {
  const link = join(modules, name);
  await mkdir(join(target, relative(checkout, dirname(link))), { recursive: true });
  await run('cp', ['-a', '--no-target-directory', link, join(target, relative(checkout, link))]);
  const home = await storeOf(link);
  // A package of the workspace was copied above; a store directory holds its package and links to all that it depends on.
  if (home === undefined || copied.has(home)) return;
  copied.add(home);
  await mkdir(join(target, relative(checkout, home), '..'), { recursive: true });
  await run('cp', ['-a', '--no-target-directory', home, join(target, relative(checkout, home))]);
  for (const dependency of await packagesIn(join(home, 'node_modules'))) {
    if (LEFT_OUT.has(dependency)) continue;
    const next = await storeOf(join(home, 'node_modules', dependency));
    if (next !== undefined && next !== home) await copyLink(checkout, target, join(home, 'node_modules'), dependency, copied);
  }
}

/** The store directory that a link of node_modules leads into; undefined for a package of the workspace. */
async function storeOf(link: string): Promise<string | undefined> {
  return /^(.*\/node_modules\/\.pnpm\/[^/]+)\/node_modules\//.exec(await realpath(link))?.[1];
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
