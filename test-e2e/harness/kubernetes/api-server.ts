import { join } from 'node:path';
import { Daemon } from '../daemon.js';
import type { Environment } from '../environment.js';
import { ADMINISTRATOR, type Credentials } from './credentials.js';
import { findProgram } from './find-program.js';
import { expectReady } from './https-request.js';

/** Addresses of Services; the first is that of the API server itself. */
export const SERVICE_SUBNET = '10.96.0.0/16';

export interface ApiServerOptions {
  readonly environment: Environment;
  /** Where its certificates, log and pid file go. */
  readonly directory: string;
  /** Where it listens, which is also where pods and nodes find it. */
  readonly address: string;
  readonly etcdUrl: string;
  readonly credentials: Credentials;
  /** Command line flags after the harness' own. */
  readonly flags?: readonly string[];
}

/** A kube-apiserver with a certificate of its own making, one at a time in a network. */
export class ApiServer {
  private constructor(
    readonly daemon: Daemon,
    /** `https://ADDRESS:6443` */
    readonly url: string,
    /** The certificate that its own is verified by. */
    readonly authority: string,
  ) {}

  static async start(options: ApiServerOptions): Promise<ApiServer> {
    const { environment, directory, address, etcdUrl, credentials } = options;
    const url = `https://${address}:${PORT}`;
    const certificates = join(directory, 'api-server-certificates');
    const authorization = { Authorization: `Bearer ${credentials.token(ADMINISTRATOR)}` };
    const daemon = await Daemon.start({
      name: 'kube-apiserver',
      program: await findProgram(environment, 'kube-apiserver'),
      args: [
        `--etcd-servers=${etcdUrl}`,
        `--bind-address=${address}`,
        `--advertise-address=${address}`,
        `--secure-port=${PORT}`,
        `--cert-dir=${certificates}`,
        `--service-cluster-ip-range=${SERVICE_SUBNET}`,
        '--authorization-mode=Node,RBAC',
        '--enable-admission-plugins=NodeRestriction',
        '--allow-privileged=true',
        `--token-auth-file=${credentials.tokenFile}`,
        // A name that the certificate of its own making is for: a spec of OpenID discovery asks the API server there.
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${credentials.serviceAccountKeyFile}`,
        `--service-account-signing-key-file=${credentials.serviceAccountKeyFile}`,
        '--kubelet-preferred-address-types=InternalIP',
        // It has no kube-proxy beside it: webhooks and aggregated APIs are asked at their pods' addresses.
        '--enable-aggregator-routing=true',
        ...(options.flags ?? []),
      ],
      directory,
      ready: () => expectReady(new URL('/readyz', url), { headers: authorization }),
      readyTimeoutMs: 90_000,
    });
    return new ApiServer(daemon, url, join(certificates, 'apiserver.crt'));
  }
}

const PORT = 6443;
