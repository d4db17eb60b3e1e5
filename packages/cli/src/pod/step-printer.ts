import { CriCallError } from '@criquet/cri-api';
import { STEPS, type SyncEvent } from '@criquet/pod-sync';
import { formatDuration } from '../duration.js';

const CALL_WIDTH = 20;
const TARGET_WIDTH = 40;
const SAME_WAIT_MS = 2000;

type EventOf<Type extends SyncEvent['type']> = Extract<SyncEvent, { type: Type }>;

/**
 * Turns sync events into lines: SyncPod's steps and under each the CRI calls that it made with their times. The first pass is
 * printed with all its steps, later ones only when they do something: what merely looked, or waits as it did before, is left out.
 */
export class StepPrinter {
  /** Lines that are printed when the pass turns out to do something. */
  private held: string[] = [];
  private readonly failures = new Set<string>();
  /** When the wait that was printed last for a container ends. */
  private readonly waits = new Map<string, number>();

  constructor(private readonly print: (line: string) => void) {}

  readonly handle = (event: SyncEvent): void => {
    switch (event.type) {
      case 'step':
        return this.step(event);
      case 'plan':
        return event.pass === 1 && !event.idle ? this.flush() : undefined;
      case 'call':
        return event.step === 'compute' ? void this.held.push(callLine(event)) : this.say(callLine(event));
      case 'failure':
        return this.failure(event);
      case 'waiting':
        return this.waiting(event);
    }
  };

  private step({ step, pass, detail }: EventOf<'step'>): void {
    const { number, title } = STEPS[step];
    const label = number >= 1 && number <= 7 ? `${number}. ` : '   ';
    if (step === 'compute') this.held = [`${label}${title}`];
    else if (detail !== '') this.held.push(`${label}${title}: ${detail}`);
    else if (pass === 1) this.held.push(`${label}${title}: nothing to do`);
    if (step !== 'compute' && pass <= 1) this.flush();
  }

  private failure({ error }: EventOf<'failure'>): void {
    // A call that failed has said so itself.
    if (error.cause instanceof CriCallError || this.failures.has(error.message)) return;
    this.failures.add(error.message);
    this.say(`     FAILED: ${error.message}`);
  }

  private waiting({ container, reason, retryInMs }: EventOf<'waiting'>): void {
    const key = `${container}/${reason}`;
    const dueAt = Date.now() + retryInMs;
    // The same wait, seen again at a later pass.
    if (Math.abs(dueAt - (this.waits.get(key) ?? 0)) < SAME_WAIT_MS) return;
    this.waits.set(key, dueAt);
    this.say(`     ${container} waits: ${reason}, next try in ${formatDuration(retryInMs)}`);
  }

  private say(line: string): void {
    this.flush();
    this.print(line);
  }

  private flush(): void {
    for (const line of this.held.splice(0)) this.print(line);
  }
}

function callLine(event: EventOf<'call'>): string {
  // The end of an image's name tells more than its registry.
  const target = event.target.length > TARGET_WIDTH ? `…${event.target.slice(1 - TARGET_WIDTH)}` : event.target;
  const outcome = event.error === undefined ? '' : `   FAILED: ${event.error.message}`;
  return `     ${event.call.padEnd(CALL_WIDTH)} ${target.padEnd(TARGET_WIDTH)} ${formatDuration(event.durationMs).padStart(9)}${outcome}`;
}
