import type { Container, Manifest } from '../manifest/pod.js';
import { readPodRecord, type PodRecord, type SandboxRecord } from '../status/pod-record.js';
import { podHostname } from '../translate/hostname.js';
import type { TranslationOptions } from '../translate/sandbox-config.js';
import { wantsHosts } from '../volumes/container-mounts.js';
import { writeHosts } from '../volumes/etc-hosts.js';
import type { Mounter } from '../volumes/mount-command.js';
import type { PodDirectory } from '../volumes/pod-directory.js';
import { prepareVolumes } from '../volumes/prepare-volumes.js';
import type { BackOff } from './back-off.js';
import { findGarbage, removeGarbage } from './collect.js';
import { createSandbox } from './create-sandbox.js';
import type { CriCalls } from './cri-calls.js';
import type { StepName } from './events.js';
import { killContainer, killContainers } from './kill-container.js';
import { computePodActions, type PodActions } from './pod-actions.js';
import { startContainer, type StartContext } from './start-container.js';
import { SyncError, type FailureReason, type SyncResult, type Waiting } from './sync-result.js';

/** What a pass needs beside the manifest; the back-offs live as long as whoever syncs the pod. */
export interface PassContext {
  readonly directory: PodDirectory;
  readonly options: TranslationOptions;
  readonly mounter: Mounter;
  readonly crashes: BackOff;
  readonly pulls: BackOff;
}

/** One pass of SyncPod: the seven steps in order. What fails is in the result; only a cancelled signal throws. */
export async function syncPass(manifest: Manifest, context: PassContext, calls: CriCalls): Promise<SyncResult> {
  return new SyncPass(manifest, context, calls).run();
}

class SyncPass {
  private readonly failures: SyncError[] = [];
  private readonly waiting: Waiting[] = [];
  private step: StepName = 'compute';

  constructor(
    private readonly manifest: Manifest,
    private readonly context: PassContext,
    private readonly calls: CriCalls,
  ) {}

  async run(): Promise<SyncResult> {
    // Step 1. A runtime that does not answer fails the pass as a whole.
    const compute = this.enter('compute', '');
    const record = await readPodRecord(compute, this.manifest.pod.metadata.uid);
    const actions = computePodActions(this.manifest, record);
    const idle = isIdle(actions, record);
    compute.report({ type: 'plan', idle });
    if (idle) return this.result(true);

    const killed = (await this.killPod(actions, record)) && (await this.killSome(actions));
    if (killed && (actions.createSandbox || !actions.killPod)) await this.startAll(actions, record);
    await this.collect(record);
    return this.result(false);
  }

  private result(idle: boolean): SyncResult {
    return { idle, failures: this.failures, waiting: this.waiting };
  }

  private enter(step: StepName, detail: string): CriCalls {
    this.step = step;
    const calls = this.calls.in({ step });
    calls.report({ type: 'step', detail });
    return calls;
  }

  /** Runs a part of the pass; a failure is kept and undefined returned, a cancellation goes on up. */
  private async attempt<T>(reason: FailureReason, container: string | undefined, action: () => Promise<T>): Promise<T | undefined> {
    try {
      return await action();
    } catch (error) {
      this.calls.signal?.throwIfAborted();
      const cause = error instanceof Error ? error : new Error(String(error));
      const failure = error instanceof SyncError ? error : new SyncError(reason, container, cause);
      this.failures.push(failure);
      this.calls.in({ step: this.step }).reportFailure(failure);
      return undefined;
    }
  }

  /** Step 2. @returns whether the pass may go on. */
  private async killPod(actions: PodActions, record: PodRecord): Promise<boolean> {
    if (!actions.killPod) {
      this.enter('kill-sandbox', '');
      return true;
    }
    const running = record.containers.filter((container) => container.state === 'running');
    const ready = record.sandboxes.filter((sandbox) => sandbox.ready);
    const calls = this.enter('kill-sandbox', record.sandboxes.length === 0 ? '' : actions.killReason);
    const done = await this.attempt('KillPodError', undefined, async () => {
      await killContainers(running, calls);
      // A sandbox that is not ready may still hold its network.
      const stop = actions.createSandbox ? record.sandboxes : ready;
      for (const sandbox of stop) await calls.runtime('stopPodSandbox', sandbox.name, { podSandboxId: sandbox.id });
      return true;
    });
    return done === true;
  }

  /** Step 3; what step 2 killed already does not come here. */
  private async killSome(actions: PodActions): Promise<boolean> {
    const kill = actions.killPod ? [] : actions.kill;
    const calls = this.enter('kill-containers', kill.map(({ record, reason }) => `${record.name}: ${reason}`).join('; '));
    const done = await Promise.all(
      kill.map(({ record }) =>
        this.attempt('KillContainerError', record.name, async () => {
          await killContainer(record, calls);
          return true;
        }),
      ),
    );
    return done.every((ok) => ok === true);
  }

  private async startAll(actions: PodActions, record: PodRecord): Promise<void> {
    const calls = this.enter('create-sandbox', actions.createSandbox ? `attempt ${actions.attempt}` : '');
    const { directory, mounter } = this.context;
    const volumes = await this.attempt('VolumeError', undefined, () => prepareVolumes(this.manifest, directory, mounter, calls.signal));
    if (volumes === undefined) return;
    const sandbox = await this.attempt('CreatePodSandboxError', undefined, () => this.sandbox(actions, calls));
    if (sandbox === undefined) return;
    const context: StartContext = { ...this.context, manifest: this.manifest, record, sandbox, volumes };
    await this.start('start-ephemeral', actions.startEphemeral, context);
    await this.start('start-init', actions.startInit, context);
    await this.start('start-containers', actions.start, context);
  }

  private async sandbox(actions: PodActions, calls: CriCalls): Promise<Pick<SandboxRecord, 'id' | 'attempt' | 'ips'>> {
    const { options, directory } = this.context;
    const sandbox = actions.createSandbox
      ? await createSandbox(this.manifest, actions.attempt, options, calls)
      : (actions.sandbox as SandboxRecord);
    const { pod } = this.manifest;
    const ips = pod.spec.hostNetwork ? options.node.hostIps : sandbox.ips;
    if (wantsHosts(pod)) {
      const { hostname, domain } = podHostname(pod, options.clusterDns?.domain ?? 'cluster.local');
      const { hostAliases: aliases, hostNetwork } = pod.spec;
      await writeHosts(directory.hosts, { podIps: ips, hostname, domain, aliases, hostNetwork });
    }
    return { id: sandbox.id, attempt: sandbox.attempt, ips };
  }

  private async start(step: StepName, containers: readonly Container[], context: StartContext): Promise<void> {
    const calls = this.enter(step, containers.map((container) => container.name).join(', '));
    for (const container of containers) {
      const waiting = await this.attempt('RunContainerError', container.name, () => startContainer(container, context, calls));
      if (waiting === undefined) continue;
      this.waiting.push(waiting);
      calls.reportWaiting(waiting.container, waiting.reason, waiting.retryInMs);
    }
  }

  /** What was of no use any more when the pass began; a failure here does not fail the pod. */
  private async collect(record: PodRecord): Promise<void> {
    const garbage = findGarbage(record);
    if (garbage.containers.length === 0 && garbage.sandboxes.length === 0) return;
    const calls = this.enter('collect', [...garbage.containers, ...garbage.sandboxes].map((object) => object.name).join(', '));
    await removeGarbage(garbage, calls).catch(() => this.calls.signal?.throwIfAborted());
  }
}

function isIdle(actions: PodActions, record: PodRecord): boolean {
  if (actions.createSandbox) return false;
  if (actions.killPod) {
    const alive = record.containers.some((container) => container.state === 'running');
    return !alive && !record.sandboxes.some((sandbox) => sandbox.ready);
  }
  const { kill, startEphemeral, startInit, start } = actions;
  return kill.length + startEphemeral.length + startInit.length + start.length === 0;
}
