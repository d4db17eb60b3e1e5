import { promisify } from 'node:util';
import koffi from 'koffi';
import { SyscallError } from '../netns/syscalls.js';
import { Slots } from './slots.js';
import { endOfInfo, UNKNOWN_END, type ProcessEnd } from './wait-status.js';

/** What starts and ends processes, of the C library that Node itself runs on, glibc or musl. */
export interface PosixSpawn {
  /**
   * Starts a program in `/`, in a session of its own, with every signal at its default and none blocked. This process is not copied. The thread that asks
   * stands still until the program is executed, which on a busy node means until a processor is free for it: one of libuv's, not the event loop's.
   *
   * @param strings of `argv` and `envp` without a NUL
   * @param stdio this process' descriptors that become its 0, 1 and 2; none is below 3, as Node keeps those open
   * @returns its pid
   * @throws SyscallError
   */
  spawn(path: string, argv: readonly string[], envp: readonly string[], stdio: readonly [number, number, number]): Promise<number>;
  /** How a child ended, or undefined while it lives. It is told at once; another thread lets go of it, for which the kernel takes milliseconds on a busy node. */
  wait(pid: number): ProcessEnd | undefined;
  /** pipe2(O_CLOEXEC): read end and write end. */
  pipe(): [number, number];
  close(fd: number): void;
}

type Strings = readonly (string | null)[];

/** posix_spawnattr_t has 336 bytes in glibc and musl on 64-bit machines, posix_spawn_file_actions_t 80. */
const OPAQUE_SIZE = 512;
/** sigset_t, in both. */
const SIGSET_SIZE = 128;
const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
const POSIX_SPAWN_SETSID = 0x80;
/** <linux/wait.h> */
const P_PID = 1;
const WNOHANG = 1;
const WEXITED = 4;
const WNOWAIT = 0x0100_0000;
/** siginfo_t in ints, and where in it `si_code`, `si_pid` and `si_status` of SIGCHLD are on 64-bit machines. */
const SIGINFO_INTS = 32;
const SI_CODE = 2;
const SI_PID = 4;
const SI_STATUS = 6;
const O_CLOEXEC = 0o2_000_000;

/** koffi takes 256 calls for other threads at once, of everybody in the process, and refuses the next. */
const threads = new Slots(32);

let loaded: PosixSpawn | undefined;

/** Binds them when they are first asked for. Throws what koffi throws when a function is not there. */
export function posixSpawn(): PosixSpawn {
  return (loaded ??= load());
}

function load(): PosixSpawn {
  const libc = koffi.load(null);
  const spawn = promisify(
    libc.func('int posix_spawn(void *pid, str path, void *actions, void *attributes, const char **argv, const char **envp)').async as (
      pid: Buffer,
      path: string,
      actions: Buffer,
      attributes: Buffer,
      argv: Strings,
      envp: Strings,
      done: (failure: Error | null, error: number) => void,
    ) => void,
  );
  const onOpaque = (name: string): ((opaque: Buffer) => number) => libc.func(`int ${name}(void *opaque)`) as (opaque: Buffer) => number;
  const initActions = onOpaque('posix_spawn_file_actions_init');
  const destroyActions = onOpaque('posix_spawn_file_actions_destroy');
  const initAttributes = onOpaque('posix_spawnattr_init');
  const destroyAttributes = onOpaque('posix_spawnattr_destroy');
  const addDup2 = libc.func('int posix_spawn_file_actions_adddup2(void *actions, int fd, int target)') as (actions: Buffer, fd: number, target: number) => number;
  const addChdir = libc.func('int posix_spawn_file_actions_addchdir_np(void *actions, str path)') as (actions: Buffer, path: string) => number;
  const setFlags = libc.func('int posix_spawnattr_setflags(void *attributes, short flags)') as (attributes: Buffer, flags: number) => number;
  const onSignals = (name: string): ((attributes: Buffer, set: Buffer) => number) =>
    libc.func(`int ${name}(void *attributes, void *set)`) as (attributes: Buffer, set: Buffer) => number;
  const setDefault = onSignals('posix_spawnattr_setsigdefault');
  const setMask = onSignals('posix_spawnattr_setsigmask');
  const waitid = libc.func('int waitid(int type, int id, void *info, int options)') as (type: number, id: number, info: Buffer, options: number) => number;
  const waitpid = promisify(libc.func('int waitpid(int pid, void *status, int options)').async as (pid: number, status: null, options: number, done: () => void) => void);
  const pipe2 = libc.func('int pipe2(void *fds, int flags)') as (fds: Buffer, flags: number) => number;
  const close = libc.func('int close(int fd)') as (fd: number) => number;

  // The attributes are the same for every process and hold no memory of their own.
  const withAttributes = async (use: (attributes: Buffer) => Promise<void>): Promise<void> => {
    const attributes = Buffer.alloc(OPAQUE_SIZE);
    checked('posix_spawnattr_init', initAttributes(attributes));
    try {
      // not sigfillset: that of glibc leaves out the two signals of its threads, which the process would then ignore
      const [all, none] = [Buffer.alloc(SIGSET_SIZE, 0xff), Buffer.alloc(SIGSET_SIZE)];
      checked('posix_spawnattr_setsigdefault', setDefault(attributes, all));
      checked('posix_spawnattr_setsigmask', setMask(attributes, none));
      checked('posix_spawnattr_setflags', setFlags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
      await use(attributes);
    } finally {
      destroyAttributes(attributes);
    }
  };

  const withActions = async (stdio: readonly number[], use: (actions: Buffer) => Promise<void>): Promise<void> => {
    const actions = Buffer.alloc(OPAQUE_SIZE);
    checked('posix_spawn_file_actions_init', initActions(actions));
    try {
      stdio.forEach((fd, target) => checked('posix_spawn_file_actions_adddup2', addDup2(actions, fd, target)));
      checked('posix_spawn_file_actions_addchdir_np', addChdir(actions, '/'));
      await use(actions);
    } finally {
      destroyActions(actions);
    }
  };

  return {
    spawn: async (path, argv, envp, stdio) => {
      const pid = new Int32Array(1);
      await withAttributes((attributes) =>
        withActions(stdio, async (actions) => {
          checked('posix_spawn', await threads.run(() => spawn(Buffer.from(pid.buffer), path, actions, attributes, [...argv, null], [...envp, null])));
        }),
      );
      return pid[0] ?? 0;
    },
    wait: (pid) => {
      const info = new Int32Array(SIGINFO_INTS);
      // ECHILD: it was waited for elsewhere, or SIGCHLD is ignored. With WNOHANG nothing interrupts it.
      if (waitid(P_PID, pid, Buffer.from(info.buffer), WEXITED | WNOHANG | WNOWAIT) !== 0) return UNKNOWN_END;
      if (info[SI_PID] !== pid) return undefined;
      void threads.run(() => waitpid(pid, null, WNOHANG));
      return endOfInfo(info[SI_CODE] ?? 0, info[SI_STATUS] ?? 0);
    },
    pipe: () => {
      const fds = Buffer.alloc(8);
      if (pipe2(fds, O_CLOEXEC) !== 0) checked('pipe2', koffi.errno());
      const [read = -1, write = -1] = new Int32Array(fds.buffer, fds.byteOffset, 2);
      return [read, write];
    },
    close: (fd) => void close(fd),
  };
}

/** The functions of the posix_spawn family return the error itself, not by errno. */
function checked(call: string, error: number): void {
  if (error !== 0) throw new SyscallError(call, errorName(error));
}

/** Of koffi's table: Node's own lacks ENOEXEC. */
function errorName(error: number): string {
  return Object.entries(koffi.os.errno).find(([, number]) => number === error)?.[0] ?? `error ${error}`;
}
