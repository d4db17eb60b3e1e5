import type { CreateContainerRequest, CreateContainerResponse, ContainerConfig } from '@criquet/cri-api';
import { encodeSpec, type Containerd, type RuntimeSpec } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { CheckpointReadiness } from '../checkpoint/checkpoint-readiness.js';
import { RestoreSources, type RestoreSource } from '../checkpoint/restore-source.js';
import { Restoration } from '../checkpoint/restoration.js';
import { alreadyExists, failedPrecondition, notFound } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { ImageIndex, type IndexedImage } from '../image/image-index.js';
import { ImageUnpacker } from '../image/image-unpacker.js';
import { ignoreNotFound, removeSnapshot } from '../runtime/already-gone.js';
import { RuntimeHandlers } from '../runtime/runtime-handlers.js';
import { SandboxFiles } from '../sandbox/sandbox-files.js';
import { podUserNamespace, userRequest } from '../spec/index.js';
import { configDigest } from '../state/config-digest.js';
import { containerName, type ContainerRecord } from '../state/container-record.js';
import { Creations, type CreationProgress } from '../state/creations.js';
import { newObjectId } from '../state/object-id.js';
import { ownedBy } from '../state/owner-labels.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Rollback } from '../steps/rollback.js';
import type { StepOf } from '../steps/registry.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { ContainerPlanner, processUser, type NewContainer } from './container-planner.js';
import { ContainerRemover } from './container-remover.js';
import { DeclaredVolumes } from './declared-volumes.js';
import { ImageUsers } from './image-users.js';
import { ImageVolumes } from './image-volumes.js';
import { MountLabels } from './mount-labels.js';
import { PreparedRootfs } from './prepared-rootfs.js';
import { validateContainerConfig } from './validate-container-config.js';
import { snapshotLabels } from '../userns/snapshot-labels.js';

/** CRI CreateContainer: the record, the container's own layer over its image, and the runtime spec. */
@scoped(Lifecycle.ContainerScoped)
export class CreateContainer {
  private readonly creations = new Creations();

  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(ImageIndex) private readonly images: ImageIndex,
    @inject(ImageUnpacker) private readonly unpacker: ImageUnpacker,
    @inject(ImageUsers) private readonly users: ImageUsers,
    @inject(SandboxFiles) private readonly files: SandboxFiles,
    @inject(ContainerPlanner) private readonly planner: ContainerPlanner,
    @inject(ImageVolumes) private readonly imageVolumes: ImageVolumes,
    @inject(DeclaredVolumes) private readonly declaredVolumes: DeclaredVolumes,
    @inject(PreparedRootfs) private readonly prepared: PreparedRootfs,
    @inject(MountLabels) private readonly mountLabels: MountLabels,
    @inject(ContainerRemover) private readonly remover: ContainerRemover,
    @inject(CheckpointReadiness) private readonly readiness: CheckpointReadiness,
    @inject(RestoreSources) private readonly sources: RestoreSources,
    @inject(Restoration) private readonly restoration: Restoration,
  ) {}

  readonly handle: UnaryCall<CreateContainerRequest, CreateContainerResponse> = async (request, { signal, log }) => {
    return { containerId: await this.obtain(request, undefined, signal, log) };
  };

  /**
   * The container that a request asks for, made of `source` instead of what the configuration's image says.
   *
   * @returns its id
   */
  async obtain(request: CreateContainerRequest, source: RestoreSource | undefined, signal: AbortSignal, log: Logger): Promise<string> {
    const { metadata } = validateContainerConfig(request);
    const sandbox = this.readySandbox(request.podSandboxId);
    const name = containerName(metadata, sandbox.name);
    const digest = configDigest({ sandbox: sandbox.id, config: request.config });
    return this.creations.join(name, digest, signal, (progress) =>
      this.createOnce(request, sandbox, name, digest, source, log, progress),
    );
  }

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
    source: RestoreSource | undefined,
    log: Logger,
    progress: { steps?: CreationProgress },
  ): Promise<string> {
    const existing = this.containers.byName(name);
    if (existing?.phase === 'creating') {
      const steps = Steps.of('CreateContainer', this.failpoints, log.child({ containerId: existing.id }));
      progress.steps = steps;
      await this.remover.discard(existing.id, steps);
    } else if (existing !== undefined) {
      const alive = existing.phase !== 'exited';
      if (alive && existing.configDigest === digest) return existing.id;
      throw alreadyExists(`container ${name} exists as ${existing.id} ${alive ? 'with another configuration' : 'and has exited'}`);
    }
    return this.create(request, sandbox, name, digest, source, log, progress);
  }

  private async create(
    request: CreateContainerRequest,
    sandbox: SandboxRecord,
    name: string,
    digest: string,
    source: RestoreSource | undefined,
    log: Logger,
    progress: { steps?: CreationProgress },
  ): Promise<string> {
    const id = newObjectId();
    const containerLog = log.child({ podSandboxId: sandbox.id, containerId: id });
    const steps = Steps.of('CreateContainer', this.failpoints, containerLog);
    progress.steps = steps;
    const rollback = Rollback.of('CreateContainer', this.failpoints, containerLog);
    const { config } = validateContainerConfig(request);
    const handler = this.handlers.of(sandbox);
    const { snapshotter } = handler;
    const restore = source ?? (await this.checkpoint(config, sandbox, steps));
    const image = restore?.image ?? this.requireImage(config);
    const wanted: NewContainer = { id, name, configDigest: digest, config, sandbox, handler, image, restored: restore !== undefined };
    const wantedUser = userRequest(config, image.config.config ?? {});
    const checked = await steps.do('check the configuration', () => this.planner.check(wanted));
    const { specFor, imageVolumes, declaredVolumes } = checked;
    // One that is restored is not created before everything of the checkpoint is there.
    const known = restore === undefined ? this.users.known(image.chainId, wantedUser) : undefined;
    const { record, frame, spec } = await steps.do('plan', () => this.planner.plan(wanted, checked, known));
    const label = record.mountLabel;
    try {
      await steps.do('write the record', async () => {
        rollback.add('remove the record', () => this.containers.remove(id));
        await this.containers.insert(record, frame);
        this.readySandbox(sandbox.id);
      });
      await steps.do('mount the image volumes', async () => {
        rollback.add('remove the image volumes', () => this.imageVolumes.remove(id, imageVolumes));
        await this.imageVolumes.mount(id, imageVolumes, config.mounts, { label, userns: usernsOf(sandbox) });
      });
      await steps.do('label the mounts', () => this.mountLabels.apply(config, spec, this.files.paths(sandbox.id, sandbox.config)));
      const mounts = await steps.do('prepare the snapshot', async () => {
        rollback.add('remove the snapshot', () => removeSnapshot(this.containerd.snapshots, snapshotter, id));
        const labels = { ...snapshotLabels(podUserNamespace(sandbox.config)), ...ownedBy(id) };
        return this.unpacker.over(image, snapshotter, () => this.containerd.snapshots.prepare(snapshotter, id, image.chainId, { labels }));
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
        const planned = specFor(user);
        const withUser = restore?.adapt(planned) ?? planned;
        if (restore !== undefined) {
          await steps.do('bring back the checkpoint', async () => {
            rollback.add('remove the checkpoint', () => this.restoration.discard(id));
            await this.restoration.prepare(id, restore, sandbox, record.logPath, mounts);
          });
        }
        await steps.do('write the spec', async () => {
          // containerd may have it although the answer got lost: it must not be taken for created while it is being undone.
          rollback.add('record that it is not whole', async () => {
            // Without a record, which a removal of the pod meanwhile took away, there is nothing to be taken for anything.
            if (this.containers.get(id) === undefined) return;
            await this.containers.update(id, ({ user: _, ...half }) => ({ ...half, phase: 'creating' })).catch(ignoreNotFound);
          });
          await this.containers.updateWithSpec(id, created(withUser), encodeSpec(withUser));
        });
      } else {
        // Recovery comes to the same conclusion, so nothing needs writing here.
        this.containers.note(id, created(spec));
      }
      this.prepared.keep(id, mounts);
      return id;
    } catch (error) {
      if (!(await rollback.run())) this.remover.owe(id);
      throw error;
    }
  }

  /** The checkpoint that is given in the place of an image. */
  private async checkpoint(config: ContainerConfig, sandbox: SandboxRecord, steps: Steps<StepOf<'CreateContainer'>>): Promise<RestoreSource | undefined> {
    const image = config.image?.image ?? '';
    if (!this.sources.isCheckpoint(image)) return undefined;
    return steps.do('read the checkpoint', async () => {
      await this.readiness.require(this.handlers.of(sandbox));
      return this.sources.find(image, config);
    });
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
