import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A containerd to test on, named after its minor version. */
export type Engine = '2.1' | '2.4';

/** The programs and data of the end-to-end suites, as `scripts/e2e` and `scripts/test` provide them. */
export interface Environment {
  /** Directories of the containerds that are there. */
  readonly containerd: Readonly<Partial<Record<Engine, string>>>;
  /** Directories put before the PATH: runc, crictl, critest. */
  readonly tools: readonly string[];
  /** Directory of a working CRIU; undefined when there is none. */
  readonly criuDirectory: string | undefined;
  readonly cniBinDir: string;
  /** Directory of crun. */
  readonly crunDir: string;
  readonly registryProgram: string;
  /** A registry's storage that holds the images of `images/suite-images.ts`. */
  readonly registryStorage: string;
  /** One that also holds those of the Kubernetes suites; undefined when they were not provided. */
  readonly kubernetesRegistryStorage: string | undefined;
  /** One that also holds those of `images/bench-images.ts`; undefined when they were not provided. */
  readonly benchRegistryStorage: string | undefined;
  /** Below which every node's directory is made. */
  readonly root: string;
  /** The `criquet` command under test; `CRIQUET_E2E_CRIQUET`, by default the checkout's `scripts/criquet`. */
  readonly criquetProgram: string;
  /** The checkout. */
  readonly checkout: string;
}

const PREPARED_BY = 'run the suites through scripts/test or scripts/e2e';

/** Reads the environment. Throws when it was not prepared. */
export function readEnvironment(env: NodeJS.ProcessEnv = process.env): Environment {
  const required = (name: string): string => {
    const value = env[name];
    if (value === undefined || value === '') throw new Error(`${name} is not set: ${PREPARED_BY}`);
    return value;
  };
  const containerd: Partial<Record<Engine, string>> = { '2.1': required('CRIQUET_E2E_CONTAINERD_21') };
  const newest = env.CRIQUET_E2E_CONTAINERD_24;
  if (newest !== undefined && newest !== '') containerd['2.4'] = newest;
  const checkout = resolve(fileURLToPath(import.meta.url), '../../../..');
  return {
    containerd,
    tools: required('CRIQUET_E2E_TOOLS').split(':'),
    criuDirectory: env.CRIQUET_E2E_CRIU || undefined,
    cniBinDir: required('CRIQUET_E2E_CNI_BIN'),
    crunDir: required('CRIQUET_E2E_CRUN'),
    registryProgram: required('CRIQUET_E2E_REGISTRY'),
    registryStorage: required('CRIQUET_E2E_IMAGES'),
    kubernetesRegistryStorage: env.CRIQUET_E2E_KUBERNETES_IMAGES || undefined,
    benchRegistryStorage: env.CRIQUET_E2E_BENCH_IMAGES || undefined,
    root: env.CRIQUET_E2E_ROOT ?? '/tmp',
    criquetProgram: env.CRIQUET_E2E_CRIQUET ?? join(checkout, 'scripts/criquet'),
    checkout,
  };
}

/** The engines to test on: those of `CRIQUET_E2E_ENGINES` (`2.1,2.4`), by default every one that is there. */
export function enginesUnderTest(environment: Environment, env: NodeJS.ProcessEnv = process.env): Engine[] {
  const there = Object.keys(environment.containerd) as Engine[];
  const wanted = env.CRIQUET_E2E_ENGINES?.split(',');
  if (wanted === undefined) return there;
  for (const name of wanted) {
    if (!there.some((engine) => engine === name)) throw new Error(`CRIQUET_E2E_ENGINES: containerd ${name} is not there`);
  }
  return there.filter((engine) => wanted.includes(engine));
}

/**
 * A time limit for a machine as fast as the usual one, in milliseconds, as it is here: a node with an emulated CPU
 * sets `CRIQUET_E2E_SLOWNESS`.
 */
export function patience(milliseconds: number): number {
  return milliseconds * Number(process.env.CRIQUET_E2E_SLOWNESS ?? 1);
}

/** The path of a tool such as `crictl`; undefined when it is not there (it is built with Go). */
export async function findTool(environment: Environment, name: string): Promise<string | undefined> {
  for (const directory of environment.tools) {
    const path = `${directory}/${name}`;
    const there = await access(path).then(
      () => true,
      () => false,
    );
    if (there) return path;
  }
  return undefined;
}
