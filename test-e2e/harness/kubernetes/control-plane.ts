import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Daemon } from '../daemon.js';
import { ApiServer } from './api-server.js';
import { startControllerManager } from './controller-manager.js';
import { ADMINISTRATOR, CONTROLLER_MANAGER, Credentials, KUBE_PROXY, nodeUser, SCHEDULER, type User } from './credentials.js';
import { Etcd } from './etcd.js';
import { findProgram } from './find-program.js';
import { Kubectl } from './kubectl.js';
import { startScheduler } from './scheduler.js';
import type { Site } from './site.js';

export interface ControlPlaneOptions {
  readonly site: Site;
  /** Names of the nodes that may join. */
  readonly nodeNames: readonly string[];
  /** Command line flags after the harness' own. */
  readonly apiServerFlags?: readonly string[];
  readonly controllerManagerFlags?: readonly string[];
}

/** etcd, kube-apiserver, kube-controller-manager and kube-scheduler on a site's address: one at a time in a site. */
export class ControlPlane {
  private constructor(
    readonly apiServer: ApiServer,
    /** An administrator's. */
    readonly kubectl: Kubectl,
    private readonly credentials: Credentials,
    /** In the order of their start. */
    readonly daemons: readonly Daemon[],
  ) {}

  static async start(options: ControlPlaneOptions): Promise<ControlPlane> {
    const { environment, network } = options.site;
    const directory = join(options.site.directory, 'control-plane');
    await mkdir(directory, { recursive: true });
    const credentials = await Credentials.create(join(directory, 'credentials'), [
      ADMINISTRATOR,
      CONTROLLER_MANAGER,
      SCHEDULER,
      KUBE_PROXY,
      ...options.nodeNames.map(nodeUser),
    ]);
    const daemons: Daemon[] = [];
    try {
      const etcd = await Etcd.start({ environment, directory });
      daemons.push(etcd.daemon);
      const apiServer = await ApiServer.start({
        environment,
        directory,
        address: network.address,
        etcdUrl: etcd.url,
        credentials,
        ...(options.apiServerFlags === undefined ? {} : { flags: options.apiServerFlags }),
      });
      daemons.push(apiServer.daemon);
      const { url, authority } = apiServer;
      const kubeconfig = (user: User) => credentials.kubeconfig(user, url, authority);
      daemons.push(
        await startControllerManager({
          environment,
          directory,
          credentials,
          authority,
          kubeconfig: await kubeconfig(CONTROLLER_MANAGER),
          ...(options.controllerManagerFlags === undefined ? {} : { flags: options.controllerManagerFlags }),
        }),
        await startScheduler({ environment, directory, kubeconfig: await kubeconfig(SCHEDULER) }),
      );
      const kubectl = new Kubectl(await findProgram(environment, 'kubectl'), await kubeconfig(ADMINISTRATOR), directory);
      return new ControlPlane(apiServer, kubectl, credentials, daemons);
    } catch (error) {
      await stopAll(daemons);
      throw error;
    }
  }

  /** Writes a kubeconfig for a user that was named at the start, and returns its path. */
  kubeconfig(user: User): Promise<string> {
    return this.credentials.kubeconfig(user, this.apiServer.url, this.apiServer.authority);
  }

  /** Ends it; its files are the site's. */
  async stop(): Promise<void> {
    await stopAll(this.daemons);
  }
}

/** Nothing of it is needed any more: no reason to wait until it has said farewell to its clients. */
async function stopAll(daemons: readonly Daemon[]): Promise<void> {
  for (const daemon of [...daemons].reverse()) await daemon.stop('SIGKILL');
}
