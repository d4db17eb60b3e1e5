import type { CommandStreams, ExecTarget } from '../stream-runtime.js';
import type { CommandOutcome } from './command-status.js';

/** Which streams the caller of Exec or Attach asked for. */
export type WantedStreams = Pick<ExecTarget, 'tty' | 'stdin' | 'stdout' | 'stderr'>;

/** One client of an exec or attach, whatever the protocol. */
export interface CommandSession {
  readonly streams: CommandStreams;
  /** Aborts when the client has gone. */
  readonly gone: AbortSignal;
  /** Ends the outputs, tells how it ended, and closes the connection when all of it is out. */
  finish(outcome: CommandOutcome): Promise<void>;
}

/** Runs what a session is for, and tells the client how it ended. */
export async function serveCommand(session: CommandSession, run: (session: CommandSession) => Promise<number>): Promise<CommandOutcome> {
  let outcome: CommandOutcome;
  try {
    outcome = { exitCode: await run(session) };
  } catch (error) {
    outcome = { error: error instanceof Error ? error.message : String(error) };
  }
  await session.finish(outcome);
  return outcome;
}
