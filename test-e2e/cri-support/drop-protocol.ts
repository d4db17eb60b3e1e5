/** The exit code when what is to be dropped is not there. */
export const NOT_APPLIED = 97;

const LINE = /^# dropped (\d+) times$/m;

export function droppedLine(times: number): string {
  return `# dropped ${times} times`;
}

/** How often something was dropped, from standard error; 0 when it does not say. */
export function droppedTimes(stderr: string): number {
  return Number(LINE.exec(stderr)?.[1] ?? 0);
}
