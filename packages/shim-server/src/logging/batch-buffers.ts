/**
 * Buffers in which batches of records are put together. A log has one only while it writes, so a thousand quiet containers
 * cost nothing.
 */
export class BatchBuffers {
  private readonly free: Buffer[] = [];

  /** @param bytes the size of each; @param keep how many unused ones stay. */
  constructor(
    readonly bytes: number,
    private readonly keep = 4,
  ) {}

  take(): Buffer {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(this.bytes);
  }

  giveBack(buffer: Buffer): void {
    if (this.free.length < this.keep) this.free.push(buffer);
  }
}
