import { join } from 'node:path';
import { Daemon } from '../daemon.js';
import type { Environment } from '../environment.js';
import { findProgram } from './find-program.js';
import { expectReady } from './https-request.js';

export interface SchedulerOptions {
  readonly environment: Environment;
  /** Where its certificate, log and pid file go. */
  readonly directory: string;
  readonly kubeconfig: string;
}

/** Starts a kube-scheduler on loopback of the suite's own network. */
export async function startScheduler({ environment, directory, kubeconfig }: SchedulerOptions): Promise<Daemon> {
  return Daemon.start({
    name: 'kube-scheduler',
    program: await findProgram(environment, 'kube-scheduler'),
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${PORT}`,
      `--cert-dir=${join(directory, 'scheduler-certificates')}`,
      '--leader-elect=false',
    ],
    directory,
    ready: () => expectReady(new URL(`https://127.0.0.1:${PORT}/healthz`)),
    readyTimeoutMs: 60_000,
  });
}

const PORT = 10259;
