import { Option, type Command } from 'commander';
import { PodSync, type SyncEventListener } from '@criquet/pod-sync';
import type { CommandContext } from '../command-context.js';
import { parseDuration } from '../duration.js';
import { CommandError, ExitCode } from '../exit-code.js';
import { OUTPUT_FORMATS, type OutputFormat } from '../output/format.js';

const DEFAULT_ENDPOINT = 'unix:///run/criquet/criquet.sock';
/** How a pod is named, for the help. */
export const POD_ARGUMENT = "NAME, NAMESPACE/NAME or the beginning of a sandbox's id or of the pod's uid";

const DEFAULT_TIMEOUT_MS = 120_000;

/** Options of every client command; they may stand before or after the subcommand's name. */
export interface ClientOptions {
  readonly runtimeEndpoint?: string;
  readonly imageEndpoint?: string;
  /** Milliseconds; 0: no limit. */
  readonly timeout?: number;
  readonly output?: OutputFormat;
  readonly podsDir?: string;
  readonly logsDir?: string;
}

export function addClientOptions(command: Command): Command {
  return command
    .option('-r, --runtime-endpoint <ENDPOINT>', `CRI socket (env CONTAINER_RUNTIME_ENDPOINT; default: ${DEFAULT_ENDPOINT})`)
    .option('--image-endpoint <ENDPOINT>', 'CRI image socket (env IMAGE_SERVICE_ENDPOINT; default: the runtime endpoint)')
    .option('--timeout <DURATION>', 'give up after this long, 0 for never (default: 2m; of run: 5m; of logs and exec: never)', parseDuration)
    .addOption(new Option('-o, --output <FORMAT>', 'how to print').choices(OUTPUT_FORMATS))
    .option('--pods-dir <DIR>', 'where files of pods are kept (env CRIQUET_PODS_DIR; default: /var/lib/criquet/kubelet)')
    .option('--logs-dir <DIR>', 'where logs of pods are kept (env CRIQUET_LOGS_DIR; default: /var/log/pods)');
}

/** A connection for the time of one command. */
export interface Session extends Disposable {
  readonly pods: PodSync;
  /** Cancelled by the user or when --timeout has passed. */
  readonly signal: AbortSignal;
}

/** Opens the endpoint that options or environment name. */
export function openSession(
  options: ClientOptions,
  context: CommandContext,
  extra: { readonly onEvent?: SyncEventListener; readonly defaultTimeoutMs?: number } = {},
): Session {
  const { env } = context;
  const endpoint = options.runtimeEndpoint ?? env.CONTAINER_RUNTIME_ENDPOINT ?? DEFAULT_ENDPOINT;
  const imageEndpoint = options.imageEndpoint ?? env.IMAGE_SERVICE_ENDPOINT;
  const cri = connect(context, { endpoint, ...(imageEndpoint === undefined ? {} : { imageEndpoint }) });
  const rootDir = options.podsDir ?? env.CRIQUET_PODS_DIR;
  const logRoot = options.logsDir ?? env.CRIQUET_LOGS_DIR;
  const timeoutMs = options.timeout ?? extra.defaultTimeoutMs ?? DEFAULT_TIMEOUT_MS;
  return {
    pods: new PodSync({
      cri,
      ...(rootDir === undefined ? {} : { rootDir }),
      ...(logRoot === undefined ? {} : { logRoot }),
      ...(context.mounter === undefined ? {} : { mounter: context.mounter }),
      ...(extra.onEvent === undefined ? {} : { onEvent: extra.onEvent }),
    }),
    signal: timeoutMs === 0 ? context.signal : AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs)]),
    [Symbol.dispose]: () => cri.close(),
  };
}

function connect(context: CommandContext, options: { endpoint: string; imageEndpoint?: string }) {
  try {
    return context.connect(options);
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error), ExitCode.usage, { cause: error });
  }
}
