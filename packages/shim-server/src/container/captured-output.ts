export type OutputName = 'stdout' | 'stderr';

/** Collects the output of a command up to a limit for both streams together; what is beyond is read and dropped. */
export class CapturedOutput {
  private readonly chunks: Record<OutputName, Buffer[]> = { stdout: [], stderr: [] };
  private remaining: number;

  constructor(limitBytes: number) {
    this.remaining = limitBytes;
  }

  /** Copies the chunk: its buffer is the reader's. */
  add(name: OutputName, chunk: Uint8Array): void {
    const kept = chunk.subarray(0, this.remaining);
    this.remaining -= kept.length;
    if (kept.length > 0) this.chunks[name].push(Buffer.from(kept));
  }

  take(name: OutputName): Buffer {
    return Buffer.concat(this.chunks[name]);
  }
}
