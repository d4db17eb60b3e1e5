import { STEPS, type StepName, type SyncEvent } from '@criquet/pod-sync';
import { formatDuration } from '../duration.js';

const CALL_WIDTH = 20;
const TARGET_WIDTH = 40;

/**
 * Turns sync events into lines: SyncPod's steps and under each the CRI calls that it made with their times. Passes that only
 * looked and found nothing to do are left out, and so are steps without work after the first pass.
 */
export class StepPrinter {
  /** Lines of step 1, held back until the plan tells whether the pass does anything. */
  private held: string[] = [];
  private reported = new Set<string>();

  constructor(private readonly print: (line: string) => void) {}

  readonly handle = (event: SyncEvent): void => {
    switch (event.type) {
      case 'step':
        return this.step(event);
      case 'plan':
        if (!event.idle) this.held.forEach((line) => this.print(line));
        this.held = [];
        return;
      case 'call':
        return this.line(event.step, callLine(event));
      case 'waiting':
        return this.waiting(event);
    }
  };

  private step({ step, pass, detail }: Extract<SyncEvent, { type: 'step' }>): void {
    const { number, title } = STEPS[step];
    if (step === 'compute') this.held = [];
    const needless = detail === '' && step !== 'compute';
    if (needless && pass > 1) return;
    const label = number >= 1 && number <= 7 ? `${number}. ` : '   ';
    this.line(step, `${label}${title}${needless ? ': nothing to do' : detail === '' ? '' : `: ${detail}`}`);
  }

  private line(step: StepName, text: string): void {
    if (step === 'compute') this.held.push(text);
    else this.print(text);
  }

  private waiting(event: Extract<SyncEvent, { type: 'waiting' }>): void {
    const key = `${event.container}/${event.reason}/${Math.ceil(event.retryInMs / 10_000)}`;
    if (this.reported.has(key)) return;
    this.reported.add(key);
    this.print(`     ${event.container} waits: ${event.reason}, next try in ${formatDuration(event.retryInMs)}`);
  }
}

function callLine(event: Extract<SyncEvent, { type: 'call' }>): string {
  // The end of an image's name tells more than its registry.
  const target = event.target.length > TARGET_WIDTH ? `…${event.target.slice(1 - TARGET_WIDTH)}` : event.target;
  const outcome = event.error === undefined ? '' : `   FAILED: ${event.error.message}`;
  return `     ${event.call.padEnd(CALL_WIDTH)} ${target.padEnd(TARGET_WIDTH)} ${formatDuration(event.durationMs).padStart(9)}${outcome}`;
}
