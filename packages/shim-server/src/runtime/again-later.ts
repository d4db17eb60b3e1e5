/** containerd is done by then with what it had not answered when it hung. */
const LATE_MS = 5_000;

/**
 * Takes back once more, a little later, what has been taken back. A containerd that hung carries out what it was asked for when it goes on, also what its caller gave up:
 * then a creation may come after its own deletion, which found nothing.
 */
export function againLater(takeBack: () => Promise<unknown>): void {
  setTimeout(() => void takeBack().catch(() => undefined), LATE_MS).unref();
}
