export type OutputName = 'stdout' | 'stderr';

/** What the outputs of all commands together may occupy. */
export class OutputMemory {
  constructor(private free: number) {}

  /** @returns how much of it may be kept */
  take(bytes: number): number {
    const taken = Math.min(bytes, this.free);
    this.free -= taken;
    return taken;
  }

  give(bytes: number): void {
    this.free += bytes;
  }
}

/** Collects the output of a command up to a limit for both streams together; what is beyond is read and dropped. */
export class CapturedOutput {
  private readonly chunks: Record<OutputName, Buffer[]> = { stdout: [], stderr: [] };
  private kept = 0;
  private dropped = false;

  constructor(
    private readonly limitBytes: number,
    private readonly memory: OutputMemory,
  ) {}

  /** Copies the chunk: its buffer is the reader's. */
  add(name: OutputName, chunk: Uint8Array): void {
    if (this.dropped) return;
    const bytes = this.memory.take(Math.min(chunk.length, this.limitBytes - this.kept));
    this.kept += bytes;
    if (bytes > 0) this.chunks[name].push(Buffer.from(chunk.subarray(0, bytes)));
  }

  take(name: OutputName): Buffer {
    return Buffer.concat(this.chunks[name]);
  }

  /** Gives the memory back; what comes now is dropped. */
  drop(): void {
    if (this.dropped) return;
    this.dropped = true;
    this.chunks.stdout.length = 0;
    this.chunks.stderr.length = 0;
    this.memory.give(this.kept);
  }
}
