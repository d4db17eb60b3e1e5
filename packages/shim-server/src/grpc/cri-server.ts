import { chmod, lstat, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { ImageServiceService, RuntimeServiceService, type ImageServiceServer, type RuntimeServiceServer } from '@criquet/cri-api';
import type { Logger } from 'pino';
import { bindService, CallsUnderWay, type Handlers } from './bind.js';
import { oneWriteReplies } from './one-write-replies.js';
import { makeDirectories } from '../runtime/make-directories.js';

const PROBE_MS = 1_000;

/** The gRPC server on its unix socket. */
export class CriServer {
  private readonly server: Server;
  private readonly underWay = new CallsUnderWay();

  constructor(
    /** Absolute path of the socket. */
    private readonly path: string,
    runtime: Handlers<RuntimeServiceServer>,
    image: Handlers<ImageServiceServer>,
    log: Logger,
    /** Largest request and largest reply, bytes. */
    maxMessageBytes: number,
  ) {
    this.server = new Server({
      'grpc.max_receive_message_length': maxMessageBytes,
      // Replies are measured where they are made.
      'grpc.max_send_message_length': -1,
      // Channelz stays on: without it forceShutdown does not know the connections that it is to cut off (grpc-js 1.14.7).
      interceptors: [oneWriteReplies],
    });
    const binding = { log, underWay: this.underWay, maxReplyBytes: maxMessageBytes };
    for (const { definition, implementation } of [
      bindService(RuntimeServiceService, runtime, binding),
      bindService(ImageServiceService, image, binding),
    ]) {
      this.server.addService(definition, implementation);
    }
  }

  /**
   * Listens; only root and its group may connect. A socket that nobody serves any more is replaced.
   * @throws Error when somebody serves it, or it cannot be made
   */
  async listen(): Promise<void> {
    await makeDirectories(dirname(this.path), 0o755);
    await requireFreeSocket(this.path);
    await rm(this.path, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.server.bindAsync(`unix://${this.path}`, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve()));
    });
    await chmod(this.path, 0o660);
  }

  /** Takes no more calls and lets those under way finish, for at most `ms`; then they are cut off. The socket is gone after it. */
  async close(ms: number): Promise<void> {
    await rm(this.path, { force: true });
    // Open connections are told to go away: they take no new call, and end when the last answer is out.
    const answered = new Promise<void>((resolve) => this.server.tryShutdown(() => resolve()));
    const done = new AbortController();
    const late = pause(ms, undefined, { signal: done.signal }).catch(() => undefined);
    await Promise.race([Promise.all([answered, this.underWay.drained()]), late]);
    done.abort();
    this.server.forceShutdown();
  }
}

/**
 * Looks whether a socket can be had, before the daemon touches anything that the one that serves it may be working on.
 * @throws Error when somebody serves it, or something else lies in its place
 */
export async function requireFreeSocket(path: string): Promise<void> {
  const present = await lstat(path).catch(() => undefined);
  if (present !== undefined && !present.isSocket()) throw new Error(`${path}: is there and is no socket`);
  if (present !== undefined && (await isServed(path))) throw new Error(`${path}: another process serves this socket`);
}

/** Whether anybody accepts connections there. */
export function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const answer = (served: boolean) => {
      socket.destroy();
      resolve(served);
    };
    socket.setTimeout(PROBE_MS, () => answer(true));
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}
