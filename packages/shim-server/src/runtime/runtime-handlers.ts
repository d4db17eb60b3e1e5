import { runcOptions, runtimeOptions, type Any, type Containerd, type ContainerRuntime, type NewTask, type RuntimeSpec } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import type { CriquetConfig, RuntimeHandlerConfig } from '../config/index.js';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { NodeFacts } from '../spec/index.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { probeHandlerFeatures, type HandlerFeatures } from './handler-features.js';
import { readHandlerSettings } from './handler-settings.js';

/** The shims that understand runc's options. */
const RUNC_SHIM = 'io.containerd.runc.v2';

/** A configured way to run pods. */
export interface RuntimeHandler {
  readonly name: string;
  readonly runtime: ContainerRuntime;
  /** What a task of it is created with: the runtime's options, and the shim's binary where the configuration names one. */
  readonly task: Pick<NewTask, 'options' | 'runtimePath'>;
  /** As found out at start. */
  readonly features: HandlerFeatures;
  /** What makes the cgroups of its pods. */
  readonly cgroupDriver: NodeFacts['cgroupDriver'];
  /** Holds the root file systems of its containers. */
  readonly snapshotter: string;
  /** Globs of the annotations that go into OCI specs. */
  readonly podAnnotations: readonly string[];
  readonly containerAnnotations: readonly string[];
  /** What the specs of its containers are made from. */
  readonly baseSpec?: RuntimeSpec;
  /** Containers with a cgroup namespace of their own may write to their cgroup. */
  readonly cgroupWritable: boolean;
  /** What of the node's devices a privileged container has: all of them, the right to make any of them, or nothing. */
  readonly privilegedDevices: 'all' | 'allowed' | 'none';
}

/** The runtime handlers of the configuration by the name pods ask for. */
export class RuntimeHandlers {
  /** @param handlers the default one among them */
  constructor(
    private readonly handlers: ReadonlyMap<string, RuntimeHandler>,
    private readonly defaultName: string,
  ) {}

  /**
   * Reads the configuration and asks every runtime what it can do.
   *
   * @throws Error naming an option that this node cannot carry out, or whose file cannot be read
   */
  static async load(
    { containerd: { snapshotter }, runtime: { handlers, defaultHandler } }: CriquetConfig,
    node: NodeFacts,
    { introspection }: Pick<Containerd, 'introspection'>,
    log: Logger,
  ): Promise<RuntimeHandlers> {
    const loaded = Object.entries(handlers).map(async ([name, settings]): Promise<[string, RuntimeHandler]> => {
      const { runtimeType, runtimePath, cgroupWritable } = settings;
      if (cgroupWritable && node.cgroup !== 'v2') throw new Error(`runtime.handlers.${name}.cgroup_writable: needs cgroup v2, this node has v1`);
      const { baseSpec } = await readHandlerSettings(name, settings);
      const cgroupDriver = driver(settings, node);
      const options = taskOptions(settings, cgroupDriver);
      const shim = { name, runtime: runtimePath === '' ? runtimeType : runtimePath, options };
      return [
        name,
        {
          name,
          runtime: { name: runtimeType, options },
          task: { options, ...(runtimePath === '' ? {} : { runtimePath }) },
          features: await probeHandlerFeatures(shim, introspection, node, log),
          cgroupDriver,
          snapshotter: settings.snapshotter === '' ? snapshotter : settings.snapshotter,
          podAnnotations: settings.podAnnotations,
          containerAnnotations: settings.containerAnnotations,
          ...(baseSpec === undefined ? {} : { baseSpec }),
          cgroupWritable,
          privilegedDevices: privilegedDevices(settings),
        },
      ];
    });
    return new RuntimeHandlers(new Map(await Promise.all(loaded)), defaultHandler);
  }

  names(): string[] {
    return [...this.handlers.keys()];
  }

  /** As Status lists them: the default one stands under "" as well, where the kubelet looks for it. */
  listed(): { readonly name: string; readonly handler: RuntimeHandler }[] {
    return ['', ...this.names()].map((name) => ({ name, handler: this.require(name) }));
  }

  /** @param name as CRI `runtime_handler`; "" is the default. @throws INVALID_ARGUMENT for one that is not configured */
  require(name: string): RuntimeHandler {
    const found = this.handlers.get(name === '' ? this.defaultName : name);
    if (found === undefined) throw invalidArgument('runtime_handler', `${JSON.stringify(name)} ${this.notConfigured()}`);
    return found;
  }

  /** The handler that a sandbox runs by, whatever is the default by now. @throws FAILED_PRECONDITION when it has left the configuration */
  of(sandbox: SandboxRecord): RuntimeHandler {
    const found = this.handlers.get(sandbox.handler);
    if (found === undefined) {
      throw failedPrecondition(`sandbox ${sandbox.id} runs by the runtime handler ${JSON.stringify(sandbox.handler)}, which ${this.notConfigured()}`);
    }
    return found;
  }

  private notConfigured(): string {
    return `is not configured; configured: ${this.names().join(', ')}`;
  }
}

function driver({ systemdCgroup }: RuntimeHandlerConfig, node: NodeFacts): NodeFacts['cgroupDriver'] {
  if (systemdCgroup === undefined) return node.cgroupDriver;
  return systemdCgroup ? 'systemd' : 'cgroupfs';
}

function taskOptions(settings: RuntimeHandlerConfig, cgroupDriver: NodeFacts['cgroupDriver']): Any {
  const { runtimeType, binaryName, root, configPath } = settings;
  return runtimeType === RUNC_SHIM
    ? runcOptions({ binaryName, root, systemdCgroup: cgroupDriver === 'systemd' })
    : runtimeOptions({ configPath });
}

function privilegedDevices(settings: RuntimeHandlerConfig): RuntimeHandler['privilegedDevices'] {
  if (!settings.privilegedWithoutHostDevices) return 'all';
  return settings.privilegedWithoutHostDevicesAllDevicesAllowed ? 'allowed' : 'none';
}
