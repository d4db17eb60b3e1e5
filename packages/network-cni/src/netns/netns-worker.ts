// Entry point of the worker thread; see netns-thread.ts.
import { openSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { NetnsReply, NetnsRequest, SocketPair } from './netns-messages.js';
import { connectLoopback } from './loopback-connect.js';
import { createPinned, releasePinned } from './pinned-netns.js';
import { StepError } from './step-error.js';
import { loadSyscalls } from './syscalls.js';
import { createPinnedInUserns } from './userns-netns.js';

const system = loadSyscalls();
/** The way back. Opened before the thread ever leaves. */
const home = openSync('/proc/thread-self/ns/net', 'r');

function reply(message: NetnsReply): void {
  parentPort?.postMessage(message);
}

function fail(id: number, error: unknown): void {
  if (!(error instanceof StepError)) throw error;
  const { step, code, reason, threadLost } = error;
  reply({ id, failure: { step, code, reason } });
  if (threadLost) throw error; // ends this thread; the next request gets a new one
}

/** Answers when it is done. */
function settle(id: number, work: Promise<SocketPair | void>): void {
  work.then(
    (sockets) => reply({ id, ...(sockets === undefined ? {} : { sockets }) }),
    (error: unknown) => {
      // Out of the promise, so that what is thrown ends the thread.
      setImmediate(() => fail(id, error));
    },
  );
}

parentPort?.on('message', (request: NetnsRequest) => {
  const { id, path } = request;
  if (request.operation === 'connect') return settle(id, connectLoopback(system, home, path, request.port, request.timeoutMs));
  if (request.operation === 'create' && request.userns !== undefined) {
    return settle(id, createPinnedInUserns(system, home, path, request.sysctls, request.userns));
  }
  try {
    if (request.operation === 'create') createPinned(system, home, path, request.sysctls);
    else releasePinned(system, path);
    reply({ id });
  } catch (error) {
    fail(id, error);
  }
});
