import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../harness/eventually.js';
import { CALL, type TestContainer, type TestPod } from '../harness/pods.js';

let count = 0;

/** A container that ends when a file appears, with an exit code of its own: neither criquet nor containerd is needed for that. */
export class Witness {
  private constructor(
    readonly container: TestContainer,
    readonly exitCode: number,
    private readonly flag: string,
    private readonly pid: number,
  ) {}

  static async start(pod: TestPod, exitCode: number): Promise<Witness> {
    const { directory, cri } = pod.node;
    const flag = `witness-${++count}`;
    const command = ['sh', '-c', `until [ -e /flags/${flag} ]; do sleep 0.02; done; echo ended; exit ${exitCode}`];
    const container = await pod.start({ command, mounts: [{ hostPath: directory, containerPath: '/flags', readonly: true }] });
    const { info } = await cri.runtime.containerStatus({ containerId: container.id, verbose: true }, CALL);
    const { pid } = JSON.parse(info.info ?? '{}') as { pid: number };
    return new Witness(container, exitCode, join(directory, flag), pid);
  }

  /** Lets it end; resolves when its process is gone, which only needs its shim. */
  async end(): Promise<void> {
    await writeFile(this.flag, '');
    await eventually(async () => {
      const there = await access(`/proc/${this.pid}`).then(() => true, () => false);
      if (there) throw new Error(`process ${this.pid} has not ended`);
    });
  }
}
