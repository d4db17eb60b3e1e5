/** Errors of CRIU that tell more than that it failed. */
const TOLD = 3;

/** What a log of CRIU (dump.log, restore.log) says went wrong, in one line; "" when it says nothing. */
export function criuErrors(log: string): string {
  return log
    .split('\n')
    .filter((line) => line.includes('Error (') && !line.includes("Can't setup RLIMIT_NOFILE"))
    .slice(0, TOLD)
    .map((line) => line.replace(/^\([^)]*\)\s*/, '').trim())
    .join('; ');
}
