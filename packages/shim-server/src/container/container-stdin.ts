import type { StdinWriter, TaskIo } from '@criquet/runtime-containerd';

/** Standard input of a running container: one writer for all attached clients, so that what they send is not torn. */
export class ContainerStdin {
  private writer: StdinWriter | undefined;
  private users = 0;
  private over = false;

  constructor(private readonly io: TaskIo) {}

  /** Opened by the first client; undefined when it was closed for good. */
  acquire(): StdinWriter | undefined {
    if (this.over) return undefined;
    if (this.writer === undefined || this.writer.destroyed) this.writer = this.io.openStdin();
    // Each client pipes into it.
    this.writer.setMaxListeners(0);
    this.users += 1;
    return this.writer;
  }

  /** The last client to leave closes the writer; the shim keeps one of its own, so the container sees no end. */
  release(): void {
    this.users -= 1;
    if (this.users > 0) return;
    this.writer?.destroy();
    this.writer = undefined;
  }

  /** Resolves when everything is written and the writer closed; nobody gets it again. */
  async closeForGood(): Promise<void> {
    this.over = true;
    const { writer } = this;
    if (writer === undefined || writer.destroyed) return;
    await new Promise<void>((resolve) => {
      writer.once('close', () => resolve());
      writer.end();
    });
  }

  destroy(): void {
    this.over = true;
    this.writer?.destroy();
  }
}
