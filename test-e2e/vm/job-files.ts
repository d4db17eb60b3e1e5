import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findTool, type Environment } from '../harness/environment.js';
import { run } from '../harness/run.js';
import { copyCheckout } from './copy-checkout.js';
import { GUEST, ON_RELEASE_TREE, type GuestJob } from './guest-job.js';

/** The programs that a suite in the guest may look for; there are far bigger ones. */
const GUEST_TOOLS = ['runc', 'crictl', 'critest', 'ginkgo', 'kubelet'];

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
    CRIQUET_E2E_CRUN: await copy(environment.crunDir, 'crun'),
  };
  for (const [engine, source] of Object.entries(environment.containerd)) {
    for (const program of ['containerd', 'containerd-shim-runc-v2', 'ctr']) {
      await copy(join(source, program), `containerd-${engine}`, program);
    }
    variables[`CRIQUET_E2E_CONTAINERD_${engine.replace('.', '')}`] = inGuest(`containerd-${engine}`);
  }
  for (const name of GUEST_TOOLS) {
    const source = await findTool(environment, name);
    if (source !== undefined) await copy(source, 'tools', name);
  }
  variables.CRIQUET_E2E_TOOLS = inGuest('tools');
  if (job.steps.some((step) => step.kind === 'suite' && ON_RELEASE_TREE.includes(step.file))) {
    await run(join(environment.checkout, 'scripts', 'release-tree'), [join(directory, 'release')], { timeoutMs: 180_000 });
    // As deploy/image has it.
    await copy(process.execPath, 'release', 'bin', 'node');
  }
  await copyCheckout(environment.checkout, join(directory, 'checkout'));
  await writeFile(join(directory, 'job.json'), JSON.stringify(job));
  await writeFile(join(directory, 'run'), runScript(variables, inGuest('checkout', 'test-e2e', 'dist', 'vm', 'in-guest', 'main.js')));
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
