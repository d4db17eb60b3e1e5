import type { RunPodSandboxRequest, RunPodSandboxResponse } from '@criquet/cri-api';
import type { NetnsProvider } from '@criquet/network-cni';
import type { Containerd } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { alreadyExists } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { ignoreNotFound } from '../runtime/already-gone.js';
import { CgroupMoves } from '../runtime/cgroup-moves.js';
import { OwnCgroups } from '../runtime/own-cgroups.js';
import { BEHIND_ANSWER_MS } from '../runtime/process-end.js';
import { RuntimeHandlers } from '../runtime/runtime-handlers.js';
import { needsLevel, type NodeFacts } from '../spec/index.js';
import { configDigest } from '../state/config-digest.js';
import { Creations, type CreationProgress } from '../state/creations.js';
import { newObjectId } from '../state/object-id.js';
import { ownedBy } from '../state/owner-labels.js';
import { sandboxName } from '../state/sandbox-record.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Rollback } from '../steps/rollback.js';
import type { StepOf, UndoOf } from '../steps/registry.js';
import { Steps } from '../steps/steps.js';
import { together } from '../steps/together.js';
import { Token, type Sandboxes } from '../tokens.js';
import { PauseStart } from './pause-start.js';
import { PauseTask } from './pause-task.js';
import { PodNetwork } from './pod-network.js';
import { PodRemoval } from './pod-removal.js';
import { SandboxFiles } from './sandbox-files.js';
import { SandboxPlanner, type SandboxMarks, type SandboxPlan } from './sandbox-planner.js';
import { SandboxRootfs } from './sandbox-rootfs.js';
import { SandboxTeardown } from './sandbox-teardown.js';
import { SelinuxLevels } from './selinux-levels.js';
import { SandboxWatch } from './sandbox-watch.js';
import { validateSandboxConfig } from './validate-sandbox-config.js';

type RunSteps = Steps<StepOf<'RunPodSandbox'>>;
type RunRollback = Rollback<UndoOf<'RunPodSandbox'>>;

/** CRI RunPodSandbox: record, netns, then the pod's network beside its pause process, which is started behind the answer. */
@scoped(Lifecycle.ContainerScoped)
export class RunPodSandbox {
  private readonly creations = new Creations();

  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.Netns) private readonly netns: NetnsProvider,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(PodNetwork) private readonly network: PodNetwork,
    @inject(SandboxPlanner) private readonly planner: SandboxPlanner,
    @inject(PauseTask) private readonly pauseTask: PauseTask,
    @inject(PauseStart) private readonly pauseStart: PauseStart,
    @inject(SandboxFiles) private readonly files: SandboxFiles,
    @inject(SandboxRootfs) private readonly rootfs: SandboxRootfs,
    @inject(SandboxTeardown) private readonly teardown: SandboxTeardown,
    @inject(PodRemoval) private readonly podRemoval: PodRemoval,
    @inject(SandboxWatch) private readonly watch: SandboxWatch,
    @inject(SelinuxLevels) private readonly levels: SelinuxLevels,
    @inject(OwnCgroups) private readonly cgroups: OwnCgroups,
    @inject(CgroupMoves) private readonly moves: CgroupMoves,
  ) {}

  readonly handle: UnaryCall<RunPodSandboxRequest, RunPodSandboxResponse> = async (request, { signal, log }) => {
    return { podSandboxId: await this.obtain(request, {}, signal, log) };
  };

  /**
   * The sandbox that a request asks for. `marks` stand in the record of a new one from the start.
   *
   * @returns its id
   */
  async obtain(request: RunPodSandboxRequest, marks: SandboxMarks, signal: AbortSignal, log: Logger): Promise<string> {
    const { metadata } = validateSandboxConfig(request.config);
    this.handlers.require(request.runtimeHandler);
    const name = sandboxName(metadata);
    const digest = marks.configDigest ?? configDigest(request);
    return this.creations.join(name, digest, signal, (progress) => this.createOnce(request, name, { ...marks, configDigest: digest }, log, progress));
  }

  /** The sandbox of that name while it lives, or a new one. */
  private async createOnce(
    request: RunPodSandboxRequest,
    name: string,
    marks: SandboxMarks,
    log: Logger,
    progress: { steps?: CreationProgress },
  ): Promise<string> {
    const existing = this.sandboxes.byName(name);
    if (existing?.phase === 'ready' && existing.configDigest === marks.configDigest) return existing.id;
    if (existing?.phase === 'failed') {
      const steps = Steps.of('RunPodSandbox', this.failpoints, log.child({ podSandboxId: existing.id }));
      progress.steps = steps;
      // Of a restore that failed there can be containers, which have the names of those that are to come.
      if (existing.restoring === true) await this.podRemoval.remove(existing.id);
      else await this.teardown.remove(existing.id, steps);
    } else if (existing !== undefined) {
      const why = existing.phase === 'ready' ? 'with another configuration' : `and is ${existing.phase}`;
      throw alreadyExists(`sandbox ${name} exists as ${existing.id} ${why}`);
    }
    return this.create(request, name, marks, log, progress);
  }

  private async create(
    request: RunPodSandboxRequest,
    name: string,
    marks: SandboxMarks,
    log: Logger,
    progress: { steps?: CreationProgress },
  ): Promise<string> {
    const id = newObjectId();
    const sandboxLog = log.child({ podSandboxId: id });
    const steps = Steps.of('RunPodSandbox', this.failpoints, sandboxLog);
    progress.steps = steps;
    const selinuxOptions = request.config?.linux?.securityContext?.selinuxOptions;
    const selinuxLevel = needsLevel(selinuxOptions, this.node) ? this.levels.reserve() : undefined;
    try {
      const plan = await steps.do('plan', () => this.planner.plan({ id, name, request, marks, selinuxLevel }));
      return await this.carryOut(id, plan, steps, sandboxLog);
    } finally {
      // Either the record has it now, or nobody.
      if (selinuxLevel !== undefined) this.levels.settle(selinuxLevel);
    }
  }

  private async carryOut(id: string, plan: SandboxPlan, steps: RunSteps, log: Logger): Promise<string> {
    const rollback = Rollback.of('RunPodSandbox', this.failpoints, log);
    const { config } = plan.record;
    try {
      await steps.do('write the record', async () => {
        rollback.add('remove the record', () => this.sandboxes.remove(id));
        await this.sandboxes.insert(plan.record, plan.frame);
      });
      const files = steps.do('write the pod files', async () => {
        rollback.add('remove the pod files', () => this.files.remove(id));
        await this.files.create(id, config);
      });
      const netns = steps.do('pin the network namespace', async () => {
        if (plan.record.netnsPath === '') return;
        rollback.add('release the network namespace', () => this.netns.release(plan.record.netnsPath));
        const { userns } = plan;
        if (userns !== undefined) rollback.add('release the user namespace', () => this.netns.release(userns.path));
        await this.netns.create(plan.record.netnsPath, userns === undefined ? {} : { userns });
      });
      const [ips, pid] = await together(
        this.attach(plan, netns, steps, rollback),
        together(files, netns).then(() => this.createPause(id, plan, steps, rollback)),
        steps.do('put the sandbox into its store', async () => {
          rollback.add('remove the sandbox from its store', () => this.containerd.sandboxes.delete(id).catch(ignoreNotFound));
          await this.containerd.sandboxes.create({ id, runtime: plan.frame.runtime, labels: ownedBy(id) });
        }),
      );
      await steps.do('record that it is ready', async () => {
        // containerd may have it although the answer got lost: it must not be taken for ready while it is being undone.
        rollback.add('record that it has failed', async () => {
          if (this.sandboxes.get(id) === undefined) return;
          await this.sandboxes.update(id, (record) => ({ ...record, phase: 'failed' })).catch(ignoreNotFound);
        });
        await this.sandboxes.update(id, (record) => ({ ...record, phase: 'ready', ips, pid }));
      });
      this.pauseStart.begin(id);
      this.watch.begin(id, BEHIND_ANSWER_MS);
      return id;
    } catch (error) {
      const undone = await rollback.run();
      if (!undone) {
        // What is left stands in the record: visible, removable, and tried again.
        this.sandboxes.amend(id, (record) => ({ ...record, phase: 'failed' }));
        this.teardown.owe(id);
      }
      throw error;
    }
  }

  private async attach({ record, networks }: SandboxPlan, netns: Promise<void>, steps: RunSteps, rollback: RunRollback): Promise<string[]> {
    await netns;
    return steps.do('attach to the pod network', async () => {
      if (networks.length === 0) return [];
      rollback.add('detach from the pod network', (signal) => this.network.detach(record, signal));
      return this.network.attach(record, networks);
    });
  }

  private createPause(id: string, plan: SandboxPlan, steps: RunSteps, rollback: RunRollback): Promise<number> {
    return steps.do('create the pause process', async () => {
      rollback.add('remove the pause process', async (signal) => {
        await this.pauseTask.remove(id, signal);
        await this.cgroups.remove(plan.record);
        await this.rootfs.remove(plan.record);
      });
      const mounts = await plan.rootfs();
      this.moves.expectAfterShim();
      return this.pauseTask.create(id, mounts, plan.handler);
    });
  }
}
