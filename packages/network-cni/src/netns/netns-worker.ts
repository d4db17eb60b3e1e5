// Entry point of the worker thread; see netns-thread.ts.
import { openSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { NetnsReply, NetnsRequest } from './netns-messages.js';
import { createPinned, releasePinned, StepError } from './pinned-netns.js';
import { loadSyscalls } from './syscalls.js';

const system = loadSyscalls();
/** The way back. Opened before the thread ever leaves. */
const home = openSync('/proc/thread-self/ns/net', 'r');

parentPort?.on('message', (request: NetnsRequest) => {
  const reply = (failure?: NetnsReply['failure']): void => {
    parentPort?.postMessage({ id: request.id, ...(failure && { failure }) } satisfies NetnsReply);
  };
  try {
    if (request.operation === 'create') createPinned(system, home, request.path, request.sysctls);
    else releasePinned(system, request.path);
    reply();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    const { step, code, reason, threadLost } = error;
    reply({ step, code, reason });
    if (threadLost) throw error; // ends this thread; the next request gets a new one
  }
});
