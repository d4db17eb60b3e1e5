/** Where a node's programs run: in the namespaces of this process, or in a room of the node's own. */
export interface Place {
  /** Pid of a process that lives there. */
  readonly pid: number;
  /** The command, and its arguments, by which a program runs there: `run(...place.command('ip', ['route']))`. */
  command(program: string, args: readonly string[]): [program: string, args: readonly string[]];
}

/** The namespaces of this process. */
export const here: Place = { pid: process.pid, command: (program, args) => [program, args] };
