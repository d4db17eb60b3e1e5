import { invalidArgument } from '../errors.js';

/** The rules of cri-api for the streams of Exec and Attach. @throws INVALID_ARGUMENT */
export function validateStreams({ tty, stdin, stdout, stderr }: { tty: boolean; stdin: boolean; stdout: boolean; stderr: boolean }): void {
  if (tty && stderr) throw invalidArgument('stderr', 'a terminal has one output; tty and stderr cannot both be set');
  if (!stdin && !stdout && !stderr) throw invalidArgument('stdin, stdout, stderr', 'one of them must be set');
}
