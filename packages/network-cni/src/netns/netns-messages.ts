import type { NetnsUserns } from './netns-provider.js';

/** A user namespace, and the program of the child that it is made in. */
export interface UsernsWork extends NetnsUserns {
  readonly program: string;
}

export type NetnsWork =
  | {
      readonly operation: 'create';
      readonly path: string;
      readonly sysctls: Readonly<Record<string, string>>;
      readonly userns?: UsernsWork;
    }
  | { readonly operation: 'release'; readonly path: string }
  /** An empty path is the daemon's own namespace. */
  | { readonly operation: 'connect'; readonly path: string; readonly port: number; readonly timeoutMs: number };

/** From the main thread to the worker. */
export type NetnsRequest = NetnsWork & { readonly id: number };

/** Two descriptors of one connection. */
export interface SocketPair {
  readonly readFd: number;
  readonly writeFd: number;
}

/** From the worker to the main thread; without `failure` the request succeeded. */
export interface NetnsReply {
  readonly id: number;
  readonly failure?: { readonly step: string; readonly code: string; readonly reason: string };
  /** Of a connect. */
  readonly sockets?: SocketPair;
}
