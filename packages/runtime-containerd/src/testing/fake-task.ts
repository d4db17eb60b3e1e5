import { Options } from '../gen/types/runc/options/oci.js';
import { Status } from '../gen/types/task/task.js';
import type { CreateTaskRequest } from '../gen/services/tasks/v1/tasks.js';
import type { LinuxResources } from '../oci/runtime-spec.js';
import { runcOptionsTypeUrl } from '../runc-options.js';
import { alreadyExists, failedPrecondition, notFound } from './fake-status.js';
import { FakeProcess, type FakeProcessInit } from './fake-process.js';

/** A container's task. */
export class FakeTask {
  readonly init: FakeProcess;
  readonly execs = new Map<string, FakeProcess>();
  /** What `tasks.update` set last. */
  resources: LinuxResources | undefined;
  /** The directory of CRIU images that it is to be restored from. */
  readonly restoredFrom: string;

  constructor(
    /** As it came. */
    readonly request: CreateTaskRequest,
    process: FakeProcessInit,
  ) {
    this.restoredFrom = imagePath(request);
    this.init = new FakeProcess(process);
  }

  process(execId: string): FakeProcess {
    if (execId === '') return this.init;
    const exec = this.execs.get(execId);
    if (exec === undefined) throw notFound(`exec process ${JSON.stringify(execId)}`);
    return exec;
  }

  addExec(process: FakeProcessInit): void {
    if (this.execs.has(process.execId)) throw alreadyExists(`exec id ${JSON.stringify(process.execId)}`);
    if (this.init.status !== Status.RUNNING) throw failedPrecondition('cannot exec in a container that is not running');
    this.execs.set(process.execId, new FakeProcess(process));
  }

  removeExec(execId: string): FakeProcess {
    const exec = this.process(execId);
    if (exec.status === Status.RUNNING) throw failedPrecondition(`cannot delete a running process ${execId}`);
    this.execs.delete(execId);
    exec.release();
    return exec;
  }
}

function imagePath({ options }: CreateTaskRequest): string {
  return options?.typeUrl === runcOptionsTypeUrl ? Options.decode(options.value).criuImagePath : '';
}
