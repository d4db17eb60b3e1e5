import type { ContainerEventType, CriConnection } from '@criquet/cri-api';

/** The container events of a node from now on. */
export class EventLog {
  private readonly seen = new Set<string>();
  private readonly end = new AbortController();

  static of(runtime: CriConnection['runtime']): EventLog {
    const log = new EventLog();
    void log.read(runtime);
    return log;
  }

  has(id: string, type: ContainerEventType): boolean {
    return this.seen.has(`${id} ${type}`);
  }

  close(): void {
    this.end.abort();
  }

  private async read(runtime: CriConnection['runtime']): Promise<void> {
    try {
      for await (const { containerId, containerEventType } of runtime.getContainerEvents({}, { signal: this.end.signal })) {
        this.seen.add(`${containerId} ${containerEventType}`);
      }
    } catch {
      // Closed; a stream that broke is noticed by the events that are missing.
    }
  }
}
