import type { Container, Manifest, Pod } from '../manifest/pod.js';
import { latestContainer, type ContainerRecord, type PodRecord, type SandboxRecord } from '../status/pod-record.js';
import { ANNOTATION } from '../translate/labels.js';
import { containerHash, sandboxHash } from '../translate/pod-hash.js';
import { initActions } from './init-actions.js';

/** A container to be stopped, and why. */
export interface KillAction {
  readonly record: ContainerRecord;
  readonly reason: string;
}

/** What step 1 finds: the difference between a manifest and what runs. */
export interface PodActions {
  /** Stop everything of the pod. */
  readonly killPod: boolean;
  /** Why, when `killPod` is set. */
  readonly killReason: string;
  readonly createSandbox: boolean;
  /** The number of the sandbox to create. */
  readonly attempt: number;
  /** The ready sandbox to go on with; undefined when one must be created. */
  readonly sandbox: SandboxRecord | undefined;
  readonly kill: readonly KillAction[];
  readonly startEphemeral: readonly Container[];
  readonly startInit: readonly Container[];
  readonly start: readonly Container[];
}

const NOTHING = {
  killPod: false,
  killReason: '',
  createSandbox: false,
  attempt: 0,
  sandbox: undefined,
  kill: [],
  startEphemeral: [],
  startInit: [],
  start: [],
} satisfies PodActions;

/** Step 1 of SyncPod, by the rules of the kubelet's computePodActions. */
export function computePodActions(manifest: Manifest, record: PodRecord): PodActions {
  const { pod } = manifest;
  const change = sandboxChange(pod, record);
  if (change !== undefined) return actionsForNewSandbox(pod, record, change);

  const sandbox = record.sandboxes[0];
  const startEphemeral = pod.spec.ephemeralContainers.filter(({ name }) => latestContainer(record, name) === undefined);
  const init = initActions(pod, record);
  const base = { ...NOTHING, sandbox, startEphemeral };
  if (init.killPod) return { ...base, killPod: true, killReason: 'an init container failed and the pod is not to be restarted' };
  if (!init.initialized) return { ...base, startInit: init.start, kill: init.kill };

  const ordinary = ordinaryActions(pod, record);
  const kill = [...init.kill, ...ordinary.kill];
  if (ordinary.kept === 0 && ordinary.start.length === 0) {
    // Sidecars must not keep a pod alive whose work is done.
    return { ...base, killPod: true, killReason: 'all containers have ended', kill, startEphemeral: [] };
  }
  return { ...base, startInit: init.start, start: ordinary.start, kill };
}

interface SandboxChange {
  readonly attempt: number;
  readonly reason: string;
}

/** Whether the pod needs a (new) sandbox. */
function sandboxChange(pod: Pod, { sandboxes }: PodRecord): SandboxChange | undefined {
  const [latest] = sandboxes;
  if (latest === undefined) return { attempt: 0, reason: 'there is none' };
  const attempt = Math.max(...sandboxes.map((sandbox) => sandbox.attempt)) + 1;
  if (sandboxes.filter((sandbox) => sandbox.ready).length > 1) return { attempt, reason: 'more than one is ready' };
  if (!latest.ready) return { attempt, reason: 'it is not ready' };
  if (latest.hostNetwork !== pod.spec.hostNetwork) return { attempt, reason: 'hostNetwork changed' };
  if (!latest.hostNetwork && latest.ips.length === 0) return { attempt, reason: 'it has no address' };
  const hash = latest.annotations[ANNOTATION.sandboxHash];
  // A sandbox made by a kubelet has no such annotation and is taken as it is.
  if (hash !== undefined && hash !== sandboxHash(pod)) return { attempt, reason: 'its definition changed' };
  return undefined;
}

function actionsForNewSandbox(pod: Pod, record: PodRecord, { attempt, reason }: SandboxChange): PodActions {
  const killReason = `the sandbox must be made anew: ${reason}`;
  const base = { ...NOTHING, killPod: true, killReason, attempt };
  const { restartPolicy } = pod.spec;
  if (restartPolicy === 'Never' && attempt !== 0 && record.containers.length > 0) return base;
  const start = pod.spec.containers.filter(({ name }) => {
    const last = latestContainer(record, name);
    return !(restartPolicy === 'OnFailure' && last?.state === 'exited' && last.exitCode === 0);
  });
  // Every container ended well, which it could only do after initialization: there is nothing to make a sandbox for.
  if (start.length === 0) return base;
  const [firstInit] = pod.spec.initContainers;
  if (firstInit !== undefined) return { ...base, createSandbox: true, startInit: [firstInit] };
  return { ...base, createSandbox: true, start };
}

interface OrdinaryActions {
  readonly start: readonly Container[];
  readonly kill: readonly KillAction[];
  /** How many containers run and may go on. */
  readonly kept: number;
}

function ordinaryActions(pod: Pod, record: PodRecord): OrdinaryActions {
  const start: Container[] = [];
  const kill: KillAction[] = [];
  let kept = 0;
  for (const container of pod.spec.containers) {
    const last = latestContainer(record, container.name);
    if (last?.state !== 'running') {
      if (shouldRestart(pod, last)) {
        start.push(container);
        // It may run all the same: two of one container must never run.
        if (last?.state === 'unknown') kill.push({ record: last, reason: 'its state is unknown' });
      }
    } else if (last.hash !== containerHash(container)) {
      kill.push({ record: last, reason: 'its definition changed' });
      start.push(container);
    } else {
      kept++;
    }
  }
  kill.push(...strangers(pod, record));
  return { start, kill, kept };
}

/** Running containers that the manifest does not name (any more); with a kubelet they cannot be. */
function strangers(pod: Pod, record: PodRecord): KillAction[] {
  const names = new Set([...pod.spec.initContainers, ...pod.spec.containers, ...pod.spec.ephemeralContainers].map(({ name }) => name));
  return record.containers
    .filter((container) => container.state === 'running' && !names.has(container.name))
    .map((container) => ({ record: container, reason: 'it is no longer in the manifest' }));
}

function shouldRestart(pod: Pod, last: ContainerRecord | undefined): boolean {
  if (last === undefined || last.state === 'created' || last.state === 'unknown') return true;
  if (pod.spec.restartPolicy === 'Never') return false;
  return pod.spec.restartPolicy === 'Always' || last.exitCode !== 0;
}
