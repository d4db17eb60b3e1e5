import { randomBytes } from 'node:crypto';

const RANDOM_BYTES = 12;

/** A new exec id: the instance of the daemon that runs the command, and a random rest. */
export function newExecId(instance: string): string {
  return instance + randomBytes(RANDOM_BYTES).toString('hex');
}

/** The instance of the daemon that made an exec id; undefined for what is none. */
export function instanceOf(execId: string): string | undefined {
  return /^([0-9a-f]{8})[0-9a-f]{24}$/.exec(execId)?.[1];
}
