import { readFile } from 'node:fs/promises';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { EventStream } from '../runtime/event-stream.js';
import { cgroupDirectory, type NodeFacts } from '../spec/index.js';
import type { ContainerRecord } from '../state/container-record.js';
import { Token, type Containers } from '../tokens.js';

/**
 * Knows whether the kernel killed a process of a container for its memory limit. The container's cgroup is asked first: it
 * outlives the process until the task is deleted, so the answer is there before the first reader of the exit code. containerd's
 * event says the same, though it may come later.
 */
@scoped(Lifecycle.ContainerScoped)
export class OomKills {
  private readonly announced = new Set<string>();

  constructor(
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(EventStream) events: EventStream,
    @inject(Token.Containers) containers: Containers,
  ) {
    events.on('oom', ({ containerId }) => {
      // Of others in the namespace, or told too late to matter: nobody would ever forget it.
      const container = containers.get(containerId);
      if (container !== undefined && container.phase !== 'exited') this.announced.add(containerId);
    });
  }

  async happened(container: ContainerRecord): Promise<boolean> {
    if (this.announced.has(container.id)) return true;
    const directory = cgroupDirectory(container.cgroupsPath, this.node, 'memory');
    const file = this.node.cgroup === 'v2' ? 'memory.events' : 'memory.oom_control';
    const text = await readFile(`${directory}/${file}`, 'utf8').catch(() => '');
    const kills = /^oom_kill (\d+)$/m.exec(text)?.[1];
    return kills !== undefined && Number(kills) > 0;
  }

  forget(containerId: string): void {
    this.announced.delete(containerId);
  }
}
