import { join } from 'node:path';
import { Daemon } from '../daemon.js';
import type { Environment } from '../environment.js';
import type { Credentials } from './credentials.js';
import { findProgram } from './find-program.js';
import { expectReady } from './https-request.js';

export interface ControllerManagerOptions {
  readonly environment: Environment;
  /** Where its certificate, log and pid file go. */
  readonly directory: string;
  readonly kubeconfig: string;
  readonly credentials: Credentials;
  /** The certificate of the API server that pods verify it by. */
  readonly authority: string;
  /** Command line flags after the harness' own. */
  readonly flags?: readonly string[];
}

/** Starts a kube-controller-manager with every default controller, on loopback of the suite's own network. */
export async function startControllerManager(options: ControllerManagerOptions): Promise<Daemon> {
  const { environment, directory, kubeconfig, credentials, authority } = options;
  return Daemon.start({
    name: 'kube-controller-manager',
    program: await findProgram(environment, 'kube-controller-manager'),
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${PORT}`,
      `--cert-dir=${join(directory, 'controller-manager-certificates')}`,
      `--service-account-private-key-file=${credentials.serviceAccountKeyFile}`,
      `--root-ca-file=${authority}`,
      '--use-service-account-credentials=true',
      '--leader-elect=false',
      ...(options.flags ?? []),
    ],
    directory,
    ready: () => expectReady(new URL(`https://127.0.0.1:${PORT}/healthz`)),
    readyTimeoutMs: 60_000,
  });
}

const PORT = 10257;
