import { setTimeout as pause } from 'node:timers/promises';
import { insideNetns } from './inside-netns.js';
import type { SocketPair } from './netns-messages.js';
import { codeOf, step, StepError } from './step-error.js';
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
  const name = `connect to ${family === 'ipv4' ? '127.0.0.1' : '[::1]'}:${port}`;
  const fd = socketInside(system, home, path, family, name);
  try {
    system.connectLoopback(fd, family, port);
    const end = performance.now() + timeoutMs;
    for (let ms = FIRST_PAUSE_MS; !system.isConnected(fd); ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
      if (performance.now() > end) throw new StepError(name, 'ETIMEDOUT', `no answer within ${timeoutMs} ms`);
      await pause(ms);
    }
    return { readFd: fd, writeFd: system.duplicate(fd) };
  } catch (error) {
    system.close(fd);
    throw error instanceof StepError ? error : new StepError(name, codeOf(error), error instanceof Error ? error.message : String(error));
  }
}

function socketInside(system: Syscalls, home: number, path: string, family: 'ipv4' | 'ipv6', name: string): number {
  const make = () => step(name, () => system.streamSocket(family));
  return path === '' ? make() : insideNetns(system, home, path, make);
}
