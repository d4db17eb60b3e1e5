import { runcOptions, runtimeOptions, type ContainerRuntime, type NewTask } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig, RuntimeHandlerConfig } from '../config/index.js';
import { invalidArgument } from '../errors.js';
import type { NodeFacts } from '../spec/index.js';
import { Token } from '../tokens.js';

/** The shims that understand runc's options. */
const RUNC_SHIM = 'io.containerd.runc.v2';

/** A configured way to run pods. */
export interface RuntimeHandler {
  readonly name: string;
  readonly runtime: ContainerRuntime;
  /** What a task of it is created with: the runtime's options, and the shim's binary where the configuration names one. */
  readonly task: Pick<NewTask, 'options' | 'runtimePath'>;
}

/** The runtime handlers of the configuration by the name pods ask for. */
@scoped(Lifecycle.ContainerScoped)
export class RuntimeHandlers {
  private readonly handlers: ReadonlyMap<string, RuntimeHandler>;
  private readonly defaultName: string;

  constructor(@inject(Token.Config) config: CriquetConfig, @inject(Token.NodeFacts) node: NodeFacts) {
    const systemd = node.cgroupDriver === 'systemd';
    this.defaultName = config.runtime.defaultHandler;
    this.handlers = new Map(
      Object.entries(config.runtime.handlers).map(([name, settings]) => [name, handler(name, settings, systemd)]),
    );
  }

  names(): string[] {
    return [...this.handlers.keys()];
  }

  /** As Status lists them: the default one stands under "" as well, where the kubelet looks for it. */
  listed(): string[] {
    return ['', ...this.names()];
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

function handler(name: string, settings: RuntimeHandlerConfig, systemd: boolean): RuntimeHandler {
  const options =
    settings.runtimeType === RUNC_SHIM
      ? runcOptions({
          binaryName: settings.binaryName,
          root: settings.root,
          systemdCgroup: settings.systemdCgroup ?? systemd,
        })
      : runtimeOptions({ configPath: settings.configPath });
  return {
    name,
    runtime: { name: settings.runtimeType, options },
    task: { options, ...(settings.runtimePath === '' ? {} : { runtimePath: settings.runtimePath }) },
  };
}
