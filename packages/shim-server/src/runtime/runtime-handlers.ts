import { runcOptions, runtimeOptions, type Containerd, type ContainerRuntime, type NewTask } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import type { CriquetConfig, RuntimeHandlerConfig } from '../config/index.js';
import { invalidArgument } from '../errors.js';
import type { NodeFacts } from '../spec/index.js';
import { probeHandlerFeatures, type HandlerFeatures } from './handler-features.js';

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
}

/** The runtime handlers of the configuration by the name pods ask for. */
export class RuntimeHandlers {
  /** @param handlers the default one among them */
  constructor(
    private readonly handlers: ReadonlyMap<string, RuntimeHandler>,
    private readonly defaultName: string,
  ) {}

  /** Reads the configuration and asks every runtime what it can do. */
  static async load(
    { runtime: { handlers, defaultHandler } }: CriquetConfig,
    node: NodeFacts,
    { introspection }: Pick<Containerd, 'introspection'>,
    log: Logger,
  ): Promise<RuntimeHandlers> {
    const loaded = Object.entries(handlers).map(async ([name, settings]): Promise<[string, RuntimeHandler]> => {
      const options = taskOptions(settings, node.cgroupDriver === 'systemd');
      const { runtimeType, runtimePath } = settings;
      const shim = { name, runtime: runtimePath === '' ? runtimeType : runtimePath, options };
      return [
        name,
        {
          name,
          runtime: { name: runtimeType, options },
          task: { options, ...(runtimePath === '' ? {} : { runtimePath }) },
          features: await probeHandlerFeatures(shim, introspection, node, log),
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
    if (found === undefined) {
      const known = this.names().join(', ');
      throw invalidArgument('runtime_handler', `${JSON.stringify(name)} is not configured; configured: ${known}`);
    }
    return found;
  }
}

function taskOptions(settings: RuntimeHandlerConfig, systemd: boolean): NonNullable<NewTask['options']> {
  return settings.runtimeType === RUNC_SHIM
    ? runcOptions({
        binaryName: settings.binaryName,
        root: settings.root,
        systemdCgroup: settings.systemdCgroup ?? systemd,
      })
    : runtimeOptions({ configPath: settings.configPath });
}
