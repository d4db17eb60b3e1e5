import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { childEnds } from './child-ends.js';
import { posixSpawn, type PosixSpawn } from './posix-spawn.js';
import type { ProcessEnd } from './wait-status.js';

export interface SpawnRequest {
  /** Absolute path of the executable. It is argv[0], too. */
  readonly path: string;
  /** What follows argv[0]. Default none. */
  readonly args?: readonly string[];
  /** The whole environment; nothing else is inherited. */
  readonly env: Readonly<Record<string, string>>;
}

/** A process that was started; its pid is that of its session and process group. */
export interface SpawnedProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process has ended, whatever holds its pipes by then. Never rejects. */
  readonly ended: Promise<ProcessEnd>;
  /** SIGKILL to its process group, or to it alone where that cannot be. Nothing once it has ended: the pid may be another's. */
  killGroup(): void;
}

/**
 * Starts a process without a copy of this one. child_process forks: while the tables of a hundred megabytes of memory are copied, and its pages are
 * faulted in again, the event loop stands still for milliseconds. Here it does not at all.
 *
 * The process has `/` as working directory, a session of its own, its signals at their default, none of them blocked, and pipes as stdin, stdout and
 * stderr. It inherits no descriptor that exec closes, as it does all that Node opens. A file without `#!` that is no program is ENOEXEC, and not
 * given to a shell.
 *
 * @throws an error with `code`: the errno's name when it cannot be started or has no pipes, ERR_INVALID_ARG_VALUE for a NUL in a string
 */
export async function spawnProcess({ path, args = [], env }: SpawnRequest): Promise<SpawnedProcess> {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  for (const text of [path, ...args, ...variables]) refuseNul(text);
  const libc = posixSpawn();
  const pipes = new Pipes(libc);
  try {
    const [stdin, stdout, stderr] = [pipes.toChild(), pipes.fromChild(), pipes.fromChild()];
    let living = true;
    let tell: (end: ProcessEnd) => void = () => undefined;
    const ended = new Promise<ProcessEnd>((resolve) => (tell = resolve));
    const pid = await childEnds.start(
      () => libc.spawn(path, [path, ...args], variables, [stdin.childFd, stdout.childFd, stderr.childFd]),
      (end) => {
        living = false;
        tell(end);
      },
    );
    // Most processes end with their output: this is noticed without a signal.
    const look = (): void => childEnds.look(pid);
    for (const { socket } of [stdout, stderr]) socket.once('close', look);
    return {
      pid,
      stdin: stdin.socket,
      stdout: stdout.socket,
      stderr: stderr.socket,
      ended,
      killGroup: () => void (living && (kill(-pid) || kill(pid))),
    };
  } catch (error) {
    pipes.destroySockets();
    throw error;
  } finally {
    pipes.closeChildFds();
  }
}

interface ChildPipe {
  /** This process' end. */
  readonly socket: Socket;
  readonly childFd: number;
}

/** The pipes of one child. Every descriptor is closed by exec, so that no other child inherits it. */
class Pipes {
  readonly #sockets: Socket[] = [];
  readonly #childFds: number[] = [];

  constructor(private readonly libc: PosixSpawn) {}

  toChild(): ChildPipe {
    const [childFd, fd] = this.libc.pipe();
    return this.#pipe(childFd, fd, { readable: false, writable: true });
  }

  fromChild(): ChildPipe {
    const [fd, childFd] = this.libc.pipe();
    return this.#pipe(childFd, fd, { readable: true, writable: false });
  }

  closeChildFds(): void {
    for (const fd of this.#childFds) this.libc.close(fd);
  }

  destroySockets(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #pipe(childFd: number, fd: number, direction: { readable: boolean; writable: boolean }): ChildPipe {
    this.#childFds.push(childFd);
    try {
      const socket = new Socket({ fd, ...direction });
      this.#sockets.push(socket);
      return { socket, childFd };
    } catch (error) {
      this.libc.close(fd);
      throw error;
    }
  }
}

/** C would take the string for a shorter one. The error is that of Node's child_process. */
function refuseNul(text: string): void {
  if (!text.includes('\0')) return;
  throw Object.assign(new TypeError('a path, an argument and a variable must not contain null bytes'), { code: 'ERR_INVALID_ARG_VALUE' });
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
