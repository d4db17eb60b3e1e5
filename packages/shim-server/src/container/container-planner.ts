import type { ContainerConfig } from '@criquet/cri-api';
import { encodeSpec, type RuntimeSpec, type SpecProcess } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { IndexedImage } from '../image/image-index.js';
import { resolveLogPath } from '../logging/index.js';
import type { RuntimeHandler } from '../runtime/runtime-handlers.js';
import { podUserNamespace, type ResolvedUser } from '../spec/index.js';
import { unixNanosAfter } from '../state/clock.js';
import type { ContainerRecord, ContainerVolumes } from '../state/container-record.js';
import { recordLabels } from '../state/record-labels.js';
import type { RecordFrame } from '../state/record-store.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { ContainerSpecs } from './container-specs.js';
import { DeclaredVolumes } from './declared-volumes.js';
import { ImageVolumes } from './image-volumes.js';
import { MountLabels } from './mount-labels.js';
import { stopSignalNumber } from './stop-signal.js';

/** A container that is to be made. */
export interface NewContainer {
  readonly id: string;
  readonly name: string;
  readonly configDigest: string;
  readonly config: ContainerConfig;
  readonly sandbox: SandboxRecord;
  readonly handler: RuntimeHandler;
  readonly image: IndexedImage;
  /** It is made of a checkpoint. */
  readonly restored: boolean;
}

/** What is known when nothing is wrong with a configuration. */
export interface CheckedContainer extends Required<ContainerVolumes> {
  /** The spec for a user; without one, for root. */
  readonly specFor: (user: ResolvedUser | undefined) => RuntimeSpec;
}

/** What is known before anything is made. */
export interface ContainerPlan {
  readonly record: ContainerRecord;
  readonly frame: RecordFrame;
  readonly spec: RuntimeSpec;
}

/** Works out what CreateContainer is going to make. */
@scoped(Lifecycle.ContainerScoped)
export class ContainerPlanner {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(ContainerSpecs) private readonly specs: ContainerSpecs,
    @inject(ImageVolumes) private readonly imageVolumes: ImageVolumes,
    @inject(DeclaredVolumes) private readonly declaredVolumes: DeclaredVolumes,
    @inject(MountLabels) private readonly mountLabels: MountLabels,
  ) {}

  /** Everything that can be wrong with the configuration; makes nothing but missing mount sources. @throws ShimError naming the field */
  async check({ id, sandbox, config, image, handler }: NewContainer): Promise<CheckedContainer> {
    const imageVolumes = this.imageVolumes.plan(id, config.mounts, { snapshotter: handler.snapshotter, userns: podUserNamespace(sandbox.config) });
    const declaredVolumes = this.declaredVolumes.plan(config, image.config.config ?? {});
    const specFor = await this.specs.prepare(id, sandbox, config, {
      image,
      imageVolumes: this.imageVolumes.hostPaths(id, imageVolumes),
      volumes: this.declaredVolumes.hostPaths(id, declaredVolumes),
    });
    return { specFor, imageVolumes, declaredVolumes };
  }

  /** @param user as far as it is known already. @throws ShimError naming the field */
  plan(wanted: NewContainer, { specFor, imageVolumes, declaredVolumes }: CheckedContainer, user: ResolvedUser | undefined): ContainerPlan {
    const { id, sandbox, config, image, handler } = wanted;
    const { snapshotter } = handler;
    const spec = specFor(user);
    this.mountLabels.check(config, spec);
    const mountLabel = spec.linux?.mountLabel;
    const record: ContainerRecord = {
      id,
      sandboxId: sandbox.id,
      name: wanted.name,
      config,
      configDigest: wanted.configDigest,
      phase: 'creating',
      imageId: image.id,
      imageRef: image.repoDigests[0] ?? image.id,
      logPath: resolveLogPath(sandbox.config.logDirectory, config.logPath),
      stopSignal: stopSignalNumber(config.stopSignal, image.config.config?.StopSignal),
      snapshotter,
      cgroupsPath: spec.linux?.cgroupsPath ?? '',
      // Recovery takes a record with a user and a snapshot for created, so it has none while more than the snapshot is to be made.
      ...(user === undefined || declaredVolumes.length > 0 ? {} : processUser(spec.process)),
      ...(imageVolumes.length === 0 ? {} : { imageVolumes }),
      ...(declaredVolumes.length === 0 ? {} : { declaredVolumes }),
      ...(mountLabel === undefined ? {} : { mountLabel }),
      ...(wanted.restored && { restored: true }),
      pid: 0,
      createdAt: unixNanosAfter(this.earlier(sandbox, config)),
      startedAt: 0n,
    };
    const frame: RecordFrame = {
      labels: { ...recordLabels('container', config.labels), ...this.imageVolumes.recordLabels(imageVolumes) },
      image: image.name,
      runtime: handler.runtime,
      // Its shim is known by that, and not looked for by a run of the shim's binary.
      sandbox: sandbox.id,
      spec: encodeSpec(spec),
      snapshotter,
      snapshotKey: id,
    };
    return { record, frame, spec };
  }

  /** When earlier attempts were created: a kubelet takes the one that was created last for the latest. */
  private earlier({ config: pod }: SandboxRecord, { metadata }: ContainerConfig): bigint[] {
    const sandboxes = new Set(this.sandboxes.all().filter(({ config }) => config.metadata?.uid === pod.metadata?.uid).map(({ id }) => id));
    return this.containers.all().filter(({ sandboxId, config }) => sandboxes.has(sandboxId) && config.metadata?.name === metadata?.name).map(({ createdAt }) => createdAt);
  }
}

/** Who the process runs as; a device may have added groups to those of the user. */
export function processUser(process: SpecProcess | undefined): Pick<ContainerRecord, 'user'> {
  if (process === undefined) return {};
  const { uid, gid, additionalGids = [] } = process.user;
  return { user: { uid, gid, additionalGids } };
}
