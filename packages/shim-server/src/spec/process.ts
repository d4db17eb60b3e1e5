import type { ContainerConfig, KeyValue } from '@criquet/cri-api';
import type { ImageRunConfig } from '@criquet/runtime-containerd';
import { invalidArgument } from '../errors.js';

/** What runs without a PATH of image or pod, as Docker and containerd give it. */
export const DEFAULT_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The argument vector. CRI's `command` replaces the image's Entrypoint and, with it, the image's Cmd; `args` alone
 * replaces Cmd only (Kubernetes, "Define a command and arguments for a container").
 *
 * @throws INVALID_ARGUMENT when neither CRI nor the image names a command.
 */
export function processArgs(config: Pick<ContainerConfig, 'command' | 'args'>, image: ImageRunConfig): string[] {
  const args = argv(config, image);
  if (args.length === 0)
    throw invalidArgument('config.command', 'no command given, and the image has no entrypoint or cmd');
  for (const arg of args) {
    if (arg.includes('\0')) throw invalidArgument('config.command', `argument ${JSON.stringify(arg)} holds a NUL byte`);
  }
  return args;
}

function argv(config: Pick<ContainerConfig, 'command' | 'args'>, image: ImageRunConfig): string[] {
  if (config.command.length > 0) return [...config.command, ...config.args];
  const entrypoint = image.Entrypoint ?? [];
  // Dockerfile's ENTRYPOINT [""] resets an inherited entrypoint: it stands for none.
  const command = entrypoint.length === 1 && entrypoint[0] === '' ? [] : entrypoint;
  return [...command, ...(config.args.length > 0 ? config.args : (image.Cmd ?? []))];
}

/** The working directory: CRI's, else the image's, else `/`. @throws INVALID_ARGUMENT for a relative one of CRI. */
export function processCwd(config: Pick<ContainerConfig, 'workingDir'>, image: ImageRunConfig): string {
  if (config.workingDir !== '') {
    if (!config.workingDir.startsWith('/')) {
      throw invalidArgument('config.working_dir', `${JSON.stringify(config.workingDir)} is not an absolute path`);
    }
    return config.workingDir;
  }
  const ofImage = image.WorkingDir ?? '';
  return ofImage.startsWith('/') ? ofImage : `/${ofImage}`;
}

/**
 * The environment, each name once: default PATH, TERM (terminals only), HOSTNAME, then the image's, then CRI's; a later
 * value takes the place of an earlier one. HOME is left to the runtime, which reads it from the root file system.
 *
 * @throws INVALID_ARGUMENT for a CRI name that is empty or holds `=`, or a NUL byte in name or value.
 */
export function processEnv(
  image: ImageRunConfig,
  envs: readonly KeyValue[],
  options: { hostname: string; tty: boolean },
): string[] {
  const env = new Map<string, string>();
  const set = (entry: string): void => {
    const split = entry.indexOf('=');
    // An image entry without '=' takes the variable away, as in Docker.
    if (split < 0) env.delete(entry);
    else env.set(entry.slice(0, split), entry);
  };
  set(DEFAULT_PATH);
  if (options.tty) set('TERM=xterm');
  set(`HOSTNAME=${options.hostname}`);
  for (const entry of image.Env ?? []) set(entry);
  envs.forEach(({ key, value }, index) => {
    const field = `config.envs[${index}]`;
    if (key === '') throw invalidArgument(`${field}.key`, 'is empty');
    if (/[=\0]/.test(key)) throw invalidArgument(`${field}.key`, `${JSON.stringify(key)} holds "=" or a NUL byte`);
    // The value may be a secret: never in a message.
    if (value.includes(0)) throw invalidArgument(`${field}.value`, `value of ${JSON.stringify(key)} holds a NUL byte`);
    set(`${key}=${value.toString('utf8')}`);
  });
  return [...env.values()];
}
