import type { CreateContainerRequest, CreateContainerResponse, ContainerConfig } from '@criquet/cri-api';
import { encodeSpec, type Containerd, type ImageConfig, type RuntimeSpec, type SpecProcess } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { alreadyExists, failedPrecondition, notFound } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { ImageIndex, type IndexedImage } from '../image/image-index.js';
import { resolveLogPath } from '../logging/index.js';
import { removeSnapshot } from '../runtime/already-gone.js';
import { RuntimeHandlers } from '../runtime/runtime-handlers.js';
import { SandboxFiles } from '../sandbox/sandbox-files.js';
import { ContainerSpecs } from './container-specs.js';
import { unixNanos } from '../state/clock.js';
import { configDigest } from '../state/config-digest.js';
import { containerName, type ContainerRecord, type ContainerVolumes } from '../state/container-record.js';
import { Creations, type CreationProgress } from '../state/creations.js';
import { newObjectId } from '../state/object-id.js';
import { recordLabels } from '../state/record-labels.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Rollback } from '../steps/rollback.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { ContainerRemover } from './container-remover.js';
import { DeclaredVolumes } from './declared-volumes.js';
import { ImageVolumes } from './image-volumes.js';
import { MountLabels } from './mount-labels.js';
import { ImageUsers } from './image-users.js';
import { stopSignalNumber } from './stop-signal.js';
import { validateContainerConfig } from './validate-container-config.js';
import { podUserNamespace, userRequest, type ResolvedUser } from '../spec/index.js';
import { snapshotLabels } from '../userns/snapshot-labels.js';

/** What is known when nothing is wrong with a configuration. */
interface CheckedConfig extends Required<ContainerVolumes> {
  /** The spec for a user; without one, for root. */
  readonly specFor: (user: ResolvedUser | undefined) => RuntimeSpec;
}

/** CRI CreateContainer: the record, the container's own layer over its image, and the runtime spec. */
@scoped(Lifecycle.ContainerScoped)
export class CreateContainer {
  private readonly creations = new Creations();

  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(ImageIndex) private readonly images: ImageIndex,
    @inject(ImageUsers) private readonly users: ImageUsers,
    @inject(SandboxFiles) private readonly files: SandboxFiles,
    @inject(ContainerSpecs) private readonly specs: ContainerSpecs,
    @inject(ImageVolumes) private readonly imageVolumes: ImageVolumes,
    @inject(DeclaredVolumes) private readonly declaredVolumes: DeclaredVolumes,
    @inject(MountLabels) private readonly mountLabels: MountLabels,
    @inject(ContainerRemover) private readonly remover: ContainerRemover,
  ) {}

  readonly handle: UnaryCall<CreateContainerRequest, CreateContainerResponse> = async (request, { signal, log }) => {
    const { metadata } = validateContainerConfig(request);
    const sandbox = this.readySandbox(request.podSandboxId);
    const name = containerName(metadata, sandbox.name);
    const digest = configDigest({ sandbox: sandbox.id, config: request.config });
    const containerId = await this.creations.join(name, digest, signal, (progress) =>
      this.createOnce(request, sandbox, name, digest, log, progress),
    );
    return { containerId };
  };

  private readySandbox(id: string): SandboxRecord {
    const sandbox = this.sandboxes.require(id);
    if (sandbox.phase !== 'ready') throw failedPrecondition(`sandbox ${sandbox.id} is not ready`);
    return sandbox;
  }

  /** The container of that name while it lives, or a new one. */
  private async createOnce(
    request: CreateContainerRequest,
    sandbox: SandboxRecord,
    name: string,
    digest: string,
    log: Logger,
    progress: { steps?: CreationProgress },
  ): Promise<string> {
    const existing = this.containers.byName(name);
    if (existing?.phase === 'creating') await this.remover.remove(existing.id);
    else if (existing !== undefined) {
      const alive = existing.phase !== 'exited';
      if (alive && existing.configDigest === digest) return existing.id;
      throw alreadyExists(`container ${name} exists as ${existing.id} ${alive ? 'with another configuration' : 'and has exited'}`);
    }
    return this.create(request, sandbox, name, digest, log, progress);
  }

  private async create(
    request: CreateContainerRequest,
    sandbox: SandboxRecord,
    name: string,
    digest: string,
    log: Logger,
    progress: { steps?: CreationProgress },
  ): Promise<string> {
    const id = newObjectId();
    const containerLog = log.child({ podSandboxId: sandbox.id, containerId: id });
    const steps = new Steps('CreateContainer', this.failpoints, containerLog);
    progress.steps = steps;
    const rollback = new Rollback(containerLog);
    const { config } = validateContainerConfig(request);
    const { snapshotter } = this.config.containerd;
    const image = this.requireImage(config);
    const wantedUser = userRequest(config, image.config.config ?? {});
    const checked = await steps.do('check the configuration', () => this.check(id, sandbox, config, image));
    const { specFor, imageVolumes, declaredVolumes } = checked;
    const known = this.users.known(image.chainId, wantedUser);
    const { record, spec } = await steps.do('plan', () => this.plan(id, sandbox, config, image, name, digest, checked, known));
    const label = record.mountLabel;
    try {
      await steps.do('write the record', async () => {
        rollback.add('remove the record', () => this.containers.remove(id));
        await this.containers.insert(record, {
          labels: { ...recordLabels('container', config.labels), ...this.imageVolumes.recordLabels(imageVolumes) },
          image: image.name,
          runtime: this.handlers.require(sandbox.runtimeHandler).runtime,
          spec: encodeSpec(spec),
          snapshotter,
          snapshotKey: id,
        });
        this.readySandbox(sandbox.id);
      });
      await steps.do('mount the image volumes', async () => {
        rollback.add('remove the image volumes', () => this.imageVolumes.remove(id, imageVolumes));
        await this.imageVolumes.mount(id, imageVolumes, config.mounts, { label, userns: usernsOf(sandbox) });
      });
      await steps.do('label the mounts', () => this.mountLabels.apply(config, spec, this.files.paths(sandbox.id, sandbox.config)));
      const mounts = await steps.do('prepare the snapshot', async () => {
        rollback.add('remove the snapshot', () => removeSnapshot(this.containerd.snapshots, snapshotter, id));
        return this.containerd.snapshots.prepare(snapshotter, id, image.chainId, { labels: snapshotLabels(podUserNamespace(sandbox.config)) });
      });
      await steps.do('fill the volumes of the image', async () => {
        rollback.add('remove the volumes of the image', () => this.declaredVolumes.remove(id));
        await this.declaredVolumes.create(id, declaredVolumes, mounts);
        const paths = this.declaredVolumes.hostPaths(id, declaredVolumes).map(({ hostPath }) => hostPath);
        await this.mountLabels.label(paths, label);
      });
      const created = ({ process }: RuntimeSpec) => (current: ContainerRecord) => ({ ...current, phase: 'created' as const, ...processUser(process) });
      if (known === undefined || record.user === undefined) {
        const user = await steps.do('look up the user', () => this.users.resolve(image.chainId, wantedUser, mounts));
        const withUser = specFor(user);
        await steps.do('write the spec', () => this.containers.updateWithSpec(id, created(withUser), encodeSpec(withUser)));
      } else {
        // Recovery comes to the same conclusion, so nothing needs writing here.
        this.containers.note(id, created(spec));
      }
      return id;
    } catch (error) {
      if (!(await rollback.run())) this.remover.owe(id);
      throw error;
    }
  }

  /** Everything that can be wrong with the configuration; makes nothing but missing mount sources. */
  private async check(
    id: string,
    sandbox: SandboxRecord,
    config: ContainerConfig,
    image: IndexedImage,
  ): Promise<CheckedConfig> {
    const imageVolumes = this.imageVolumes.plan(id, config.mounts, this.config.containerd.snapshotter);
    const declaredVolumes = this.declaredVolumes.plan(config, image.config.config ?? {});
    const specFor = await this.specs.prepare(id, sandbox, config, {
      image,
      imageVolumes: this.imageVolumes.hostPaths(id, imageVolumes),
      volumes: this.declaredVolumes.hostPaths(id, declaredVolumes),
    });
    return { specFor, imageVolumes, declaredVolumes };
  }

  private plan(
    id: string,
    sandbox: SandboxRecord,
    config: ContainerConfig,
    image: IndexedImage,
    name: string,
    digest: string,
    { specFor, imageVolumes, declaredVolumes }: CheckedConfig,
    user: ResolvedUser | undefined,
  ): { record: ContainerRecord; spec: RuntimeSpec } {
    const spec = specFor(user);
    this.mountLabels.check(config, spec);
    const mountLabel = spec.linux?.mountLabel;
    const record: ContainerRecord = {
      id,
      sandboxId: sandbox.id,
      name,
      config,
      configDigest: digest,
      phase: 'creating',
      imageId: image.id,
      imageRef: image.repoDigests[0] ?? image.id,
      logPath: resolveLogPath(sandbox.config.logDirectory, config.logPath),
      stopSignal: stopSignalNumber(config.stopSignal, imageStopSignal(image.config)),
      cgroupsPath: spec.linux?.cgroupsPath ?? '',
      // Recovery takes a record with a user and a snapshot for created, so it has none while more than the snapshot is to be made.
      ...(user === undefined || declaredVolumes.length > 0 ? {} : processUser(spec.process)),
      ...(imageVolumes.length === 0 ? {} : { imageVolumes }),
      ...(declaredVolumes.length === 0 ? {} : { declaredVolumes }),
      ...(mountLabel === undefined ? {} : { mountLabel }),
      pid: 0,
      createdAt: unixNanos(),
      startedAt: 0n,
    };
    return { record, spec };
  }

  private requireImage(config: ContainerConfig): IndexedImage {
    const reference = config.image?.image ?? '';
    const image = this.images.find(reference);
    if (image === undefined) throw notFound('image', reference);
    return image;
  }
}

/** The user namespace of a pod that has its own: its pause process is in it. */
function usernsOf({ config, pid }: SandboxRecord): string | undefined {
  return podUserNamespace(config) === undefined ? undefined : `/proc/${pid}/ns/user`;
}

/** Who the process runs as; a device may have added groups to those of the user. */
function processUser(process: SpecProcess | undefined): Pick<ContainerRecord, 'user'> {
  if (process === undefined) return {};
  const { uid, gid, additionalGids = [] } = process.user;
  return { user: { uid, gid, additionalGids } };
}

function imageStopSignal(image: ImageConfig): string | undefined {
  return image.config?.StopSignal;
}
