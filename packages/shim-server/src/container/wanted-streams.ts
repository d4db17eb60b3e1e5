import { invalidArgument } from '../errors.js';

interface Streams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** The rule of cri-api for the streams of Exec and Attach. @throws INVALID_ARGUMENT */
export function expectStream({ stdin, stdout, stderr }: Streams): void {
  if (!stdin && !stdout && !stderr) throw invalidArgument('stdin, stdout, stderr', 'one of them must be set');
}

/** The rules of cri-api for the streams of Exec. @throws INVALID_ARGUMENT */
export function validateStreams({ tty, ...streams }: Streams & { readonly tty: boolean }): void {
  if (tty && streams.stderr) throw invalidArgument('stderr', 'a terminal has one output; tty and stderr cannot both be set');
  expectStream(streams);
}
