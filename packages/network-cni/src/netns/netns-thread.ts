import { closeSync } from 'node:fs';
import { statfsSync } from 'node:fs';
import { Socket } from 'node:net';
import { isAbsolute } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { NetnsReply, NetnsRequest, NetnsWork, SocketPair } from './netns-messages.js';
import { NetnsError, type CreateNetnsOptions, type NetnsConnection, type NetnsProvider } from './netns-provider.js';

export interface NetnsThreadOptions {
  /** Milliseconds after which a request fails though the kernel has not answered. Default 30,000. */
  readonly timeoutMs?: number;
  /** The worker's module, for bundles that lay it elsewhere. Default: `netns-worker.js` beside this module. */
  readonly workerUrl?: URL;
  /**
   * The executable in which user namespaces are made; see the README for what it reads and writes. Without it `create` with `userns` fails.
   */
  readonly usernsChild?: string;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const CLOSE_MS = 1_000;
/** For each of the two addresses. */
const CONNECT_MS = 10_000;

/** NSFS_MAGIC of linux/magic.h: what a pinned namespace looks like to statfs. */
const NSFS_MAGIC = 0x6e73_6673;

interface Pending {
  readonly request: NetnsRequest;
  readonly resolve: (sockets?: SocketPair) => void;
  readonly reject: (error: NetnsError) => void;
  readonly timer: NodeJS.Timeout;
  /** Its caller was told that it failed for time; the work may still be done. */
  abandoned: boolean;
}

/**
 * Makes network namespaces without a process: one worker thread leaves the daemon's namespace by system call, pins the new one and
 * returns. The main thread never leaves its own. One namespace takes about a millisecond, in which the event loop goes on. Only a
 * namespace inside of a new user namespace needs a child process, which the same thread starts and ends.
 *
 * The worker starts with the first request. When it dies, requests under way fail with step `worker` (release their paths) and the
 * next request starts another.
 */
export class NetnsThread implements NetnsProvider {
  readonly #timeoutMs: number;
  readonly #workerUrl: URL;
  readonly #usernsChild: string | undefined;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #lastId = 0;
  #closed = false;
  #onSettled: (() => void) | undefined;

  constructor(options: NetnsThreadOptions = {}) {
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#usernsChild = options.usernsChild;
    this.#workerUrl = options.workerUrl ?? new URL('./netns-worker.js', import.meta.url);
  }

  async create(path: string, options: CreateNetnsOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    const { userns } = options;
    await this.#request({
      operation: 'create',
      path,
      sysctls: { ...options.sysctls },
      ...(userns === undefined ? {} : { userns: { ...userns, program: this.#childProgram(path) } }),
    });
  }

  #childProgram(path: string): string {
    if (this.#usernsChild !== undefined) return this.#usernsChild;
    throw new NetnsError('make the user namespace', path, 'ENOSYS', 'there is no program for it on this machine');
  }

  async release(path: string): Promise<void> {
    await this.#request({ operation: 'release', path });
  }

  async exists(path: string): Promise<boolean> {
    try {
      return statfsSync(path).type === NSFS_MAGIC;
    } catch (cause) {
      const { code = '', message } = cause as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return false;
      throw new NetnsError('look at the pin', path, code, message, { cause });
    }
  }

  async connect(path: string | undefined, port: number): Promise<NetnsConnection> {
    const sockets = await this.#request({ operation: 'connect', path: path ?? '', port, timeoutMs: CONNECT_MS });
    if (sockets === undefined) throw new NetnsError('connect', path ?? '', '', 'the thread gave no sockets');
    return {
      input: new Socket({ fd: sockets.readFd, readable: true, writable: false }),
      output: new Socket({ fd: sockets.writeFd, readable: false, writable: true }),
    };
  }

  /** Lets requests under way finish, then ends the worker. Later requests fail. */
  async close(): Promise<void> {
    this.#closed = true;
    if ([...this.#pending.values()].some((pending) => !pending.abandoned)) {
      await new Promise<void>((resolve) => (this.#onSettled = resolve));
    }
    // a thread that the kernel does not let go cannot be ended either
    await Promise.race([this.#worker?.terminate(), delay(CLOSE_MS, undefined, { ref: false })]);
  }

  #request(work: NetnsWork): Promise<SocketPair | undefined> {
    return new Promise((resolve, reject) => {
      const { path } = work;
      if (this.#closed) return reject(new NetnsError('worker', path, '', 'closed'));
      if (!isAbsolute(path) && work.operation !== 'connect') return reject(new NetnsError('create the pin', path, '', 'the path is not absolute'));
      this.#worker ??= this.#start();
      this.#worker.ref(); // the process stays while someone waits
      const id = ++this.#lastId;
      const timer = setTimeout(() => this.#abandon(id), this.#timeoutMs);
      const request: NetnsRequest = { id, ...work };
      this.#pending.set(id, { request, resolve, reject, timer, abandoned: false });
      this.#worker.postMessage(request);
    });
  }

  #start(): Worker {
    const worker = new Worker(this.#workerUrl, {
      name: 'netns',
      execArgv: [], // flags like --eval or --import are the main thread's
      // it calls the kernel and nothing else
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 },
    });
    let cause: unknown;
    worker.on('message', (reply: NetnsReply) => this.#settle(reply));
    worker.on('error', (error) => (cause = error));
    worker.on('exit', (code) => {
      if (this.#worker === worker) this.#worker = undefined;
      const reason = `the thread that makes network namespaces ended (${cause instanceof Error ? cause.message : `code ${code}`})`;
      for (const [id, pending] of this.#pending) {
        this.#forget(id, pending);
        if (!pending.abandoned) pending.reject(new NetnsError('worker', pending.request.path, '', reason, { cause }));
      }
    });
    return worker;
  }

  #settle({ id, failure, sockets }: NetnsReply): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#forget(id, pending);
    const { request, abandoned } = pending;
    if (!abandoned) {
      if (failure === undefined) pending.resolve(sockets);
      else pending.reject(new NetnsError(failure.step, request.path, failure.code, failure.reason));
    } else if (sockets !== undefined) {
      for (const fd of [sockets.readFd, sockets.writeFd]) closeSync(fd);
    } else if (request.operation === 'create' && failure === undefined) {
      // no one knows of this namespace; a failure here leaves it to the release that its caller owes
      for (const pin of [request.path, request.userns?.path]) if (pin !== undefined) this.release(pin).catch(() => undefined);
    }
  }

  #abandon(id: number): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    pending.abandoned = true;
    this.#checkSettled();
    const reason = `the kernel did not answer within ${this.#timeoutMs} ms`;
    pending.reject(new NetnsError('worker', pending.request.path, 'ETIMEDOUT', reason));
  }

  #forget(id: number, { timer }: Pending): void {
    clearTimeout(timer);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker?.unref();
    this.#checkSettled();
  }

  #checkSettled(): void {
    if ([...this.#pending.values()].every((pending) => pending.abandoned)) this.#onSettled?.();
  }
}
