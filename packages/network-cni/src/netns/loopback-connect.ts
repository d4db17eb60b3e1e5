import { closeSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { SocketPair } from './netns-messages.js';
import { codeOf, StepError } from './pinned-netns.js';
import type { Syscalls } from './syscalls.js';

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

/**
 * Connects with a port on the loopback of a network namespace, on 127.0.0.1 and, when that is refused, on ::1. Only the making of the socket
 * happens inside of the namespace: it stays there, while the thread returns at once and waits for the connection without blocking.
 *
 * @returns two descriptors of the connection, so that a failure of one direction leaves what the other still has to deliver
 */
export async function connectLoopback(system: Syscalls, home: number, path: string, port: number, timeoutMs: number): Promise<SocketPair> {
  try {
    return await connectFamily(system, home, path, 'ipv4', port, timeoutMs);
  } catch (first) {
    try {
      return await connectFamily(system, home, path, 'ipv6', port, timeoutMs);
    } catch (second) {
      // Without IPv6, or where nobody listens there either, the first answer says more.
      throw second instanceof StepError && second.threadLost ? second : first;
    }
  }
}

async function connectFamily(
  system: Syscalls,
  home: number,
  path: string,
  family: 'ipv4' | 'ipv6',
  port: number,
  timeoutMs: number,
): Promise<SocketPair> {
  const step = `connect to ${family === 'ipv4' ? '127.0.0.1' : '[::1]'}:${port}`;
  const fd = socketInside(system, home, path, family, step);
  try {
    system.connectLoopback(fd, family, port);
    const end = Date.now() + timeoutMs;
    for (let ms = FIRST_PAUSE_MS; !system.isConnected(fd); ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
      if (Date.now() > end) throw new StepError(step, 'ETIMEDOUT', `no answer within ${timeoutMs} ms`);
      await pause(ms);
    }
    return { readFd: fd, writeFd: system.duplicate(fd) };
  } catch (error) {
    system.close(fd);
    throw error instanceof StepError ? error : new StepError(step, codeOf(error), error instanceof Error ? error.message : String(error));
  }
}

/** Synchronous on purpose: nothing else may run on the thread while it is elsewhere. */
function socketInside(system: Syscalls, home: number, path: string, family: 'ipv4' | 'ipv6', step: string): number {
  const make = () => {
    try {
      return system.streamSocket(family);
    } catch (error) {
      throw new StepError(step, codeOf(error), (error as Error).message);
    }
  };
  if (path === '') return make();
  let netns: number;
  try {
    netns = openSync(path, 'r');
  } catch (error) {
    throw new StepError('open the pin', codeOf(error), (error as Error).message);
  }
  try {
    try {
      system.enterNet(netns);
    } catch (error) {
      throw new StepError('enter the namespace', codeOf(error), (error as Error).message);
    }
    try {
      return make();
    } finally {
      try {
        system.enterNet(home);
      } catch (error) {
        throw new StepError('return to the own namespace', codeOf(error), (error as Error).message, true);
      }
    }
  } finally {
    closeSync(netns);
  }
}
