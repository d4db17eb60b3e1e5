/** What a daemon with failpoints collects its garbage at. */
export const COLLECT_GARBAGE = 'SIGUSR2';

/** Without it, what the memory of an idle process is depends on when V8 last found it worth while. Needs `--expose-gc`. */
export function collectGarbageOnSignal(): void {
  process.on(COLLECT_GARBAGE, () => globalThis.gc?.());
}
