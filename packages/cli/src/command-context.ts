import type { CriConnection, CriConnectOptions } from '@criquet/cri-api';
import type { Mounter } from '@criquet/pod-sync';
import type { auditNode, startShimServer } from '@criquet/shim-server';
import type { Writable } from 'node:stream';

/** Everything that a command touches outside itself, so that tests can stand in for it. */
export interface CommandContext {
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Cancelled by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  readonly connect: (options: CriConnectOptions) => CriConnection;
  /** Standard input as text, for a manifest named "-". */
  readonly readStdin: () => Promise<string>;
  /** Starts the daemon; default: the shim server's. */
  readonly startServer?: typeof startShimServer;
  /** Looks at what is on the node; default: the shim server's. */
  readonly auditNode?: typeof auditNode;
  /** Makes mounts; default: the machine's. */
  readonly mounter?: Mounter;
}

/** Writes with back-pressure: waits when the reader is slower. */
export async function write(stream: Writable, data: string | Buffer): Promise<void> {
  if (stream.write(data)) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.once('drain', done);
    // A reader that went away reads no more.
    stream.once('close', done);
  });
}
