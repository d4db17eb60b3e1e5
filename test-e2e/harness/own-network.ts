import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { run } from './run.js';

/** Names the network namespace that a suite was started out of. */
const LEFT = 'CRIQUET_E2E_NETWORK_LEFT';

/**
 * Runs a suite in a network namespace of its own, so that nothing it does to links, routes and rules touches the machine's:
 * the module starts itself again there and ends as that process ended. The namespace goes with the suite's last process.
 *
 * @param module `import.meta.url` of the file that a person or `tap` runs
 * @param suite imports the suite: only then may `tap` be imported, since it prints as soon as it is
 */
export async function inOwnNetwork(module: string, suite: () => Promise<unknown>): Promise<void> {
  const current = readlinkSync('/proc/self/ns/net');
  const left = process.env[LEFT];
  if (left !== undefined && left !== current) {
    await run('ip', ['link', 'set', 'lo', 'up']);
    await suite();
    return;
  }
  const child = spawn('unshare', ['--net', process.execPath, ...process.execArgv, fileURLToPath(module), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, [LEFT]: current },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
