import type { Duplex, Readable } from 'node:stream';
import type { TerminalSizes } from './remote-command/terminal-sizes.js';

/** Where one output of a command goes. */
export interface OutputStream {
  /**
   * Resolves when the chunk was taken and its memory may be used again: true when a client takes it, false when there is nobody any
   * more. Never rejects.
   */
  write(chunk: Buffer): Promise<boolean>;
}

/** The streams of one client of an exec or attach; absent ones were not asked for. */
export interface CommandStreams {
  /** Ends when the client closes its side; destroyed when the client goes away. */
  readonly stdin?: Readable;
  readonly stdout?: OutputStream;
  /** Never with a terminal. */
  readonly stderr?: OutputStream;
  /** Of a terminal. */
  readonly sizes: TerminalSizes;
}

export interface ExecTarget {
  readonly containerId: string;
  readonly cmd: readonly string[];
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

export type AttachTarget = Omit<ExecTarget, 'cmd'>;

export interface PortForwardTarget {
  readonly podSandboxId: string;
  /** The ports of a WebSocket client; one of SPDY names them itself. */
  readonly ports: readonly number[];
}

/** Who runs commands and reaches ports: all that the streaming server knows of containers. `signal` aborts when the client is gone. */
export interface StreamRuntime {
  /** Runs a command; resolves with its exit code when it has ended and its output was handed over. */
  exec(target: ExecTarget, streams: CommandStreams, signal: AbortSignal): Promise<number>;
  /** Resolves when the container has ended or the client wants no more. */
  attach(target: AttachTarget, streams: CommandStreams, signal: AbortSignal): Promise<void>;
  /**
   * Connects `stream` with a port on the pod's loopback. Resolves when both directions have ended, or the pod's side is closed; rejects when the port
   * cannot be reached.
   */
  portForward(podSandboxId: string, port: number, stream: Duplex, signal: AbortSignal): Promise<void>;
}
