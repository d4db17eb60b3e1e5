import type { RuntimeCondition } from '@criquet/cri-api';
import { runcOptionsTypeUrl } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition } from '../errors.js';
import { RuntimeHandlers, type RuntimeHandler } from '../runtime/runtime-handlers.js';
import { Token } from '../tokens.js';
import type { CriuProbe, CriuReport } from './criu-probe.js';

/** Whether containers can be checkpointed and restored here: found out at start, and again when a call wants it and the answer was no. */
@scoped(Lifecycle.ContainerScoped)
export class CheckpointReadiness {
  private report: CriuReport = { usable: false, reason: 'CriuUnknown', message: 'CRIU is still being looked for' };
  private probing: Promise<void> | undefined;

  constructor(
    @inject(Token.CriuProbe) private readonly probeCriu: CriuProbe,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
  ) {}

  /** Begins to look, unless that is under way. The start does not wait for it: `criu check` can take a second. */
  probe(): Promise<void> {
    this.probing ??= this.probeCriu()
      .then((report) => void (this.report = report))
      .finally(() => (this.probing = undefined));
    return this.probing;
  }

  /** @throws FAILED_PRECONDITION saying what is missing */
  async require(handler: RuntimeHandler): Promise<void> {
    if (!supports(handler)) throw failedPrecondition(`checkpoint: ${unsupported(handler.name)}`);
    // CRIU may have been installed since.
    if (!this.report.usable) await this.probe();
    if (!this.report.usable) throw failedPrecondition(`checkpoint: ${this.report.message}`);
  }

  /** CRI Status says it beforehand. It is no condition that the kubelet asks for. */
  condition(): RuntimeCondition {
    const notReady = (reason: string, message: string) => ({ type: 'CheckpointReady', status: false, reason, message });
    if (!this.report.usable) return notReady(this.report.reason, this.report.message);
    if (!this.supporting().includes(this.handlers.require('').name)) {
      return notReady('RuntimeUnsupported', unsupported(this.handlers.require('').name));
    }
    return { type: 'CheckpointReady', status: true, reason: '', message: '' };
  }

  /** For the verbose info. */
  info(): object {
    return { criu: this.report, runtimeHandlers: this.supporting() };
  }

  private supporting(): string[] {
    return this.handlers.names().filter((name) => supports(this.handlers.require(name)));
  }
}

/** containerd takes a checkpoint's paths from runc's options only. */
function supports({ features, task }: RuntimeHandler): boolean {
  return features.checkpoint && task.options?.typeUrl === runcOptionsTypeUrl;
}

function unsupported(handler: string): string {
  return `runtime handler ${handler} has no support for checkpoints (its shim is not runc's, or its runtime was built without CRIU)`;
}
