import { readlink } from 'node:fs/promises';
import { NamespaceMode, type ContainerConfig } from '@criquet/cri-api';
import type { Containerd, RuntimeSpec } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { IndexedImage } from '../image/image-index.js';
import type { HandlerFeatures } from '../runtime/handler-features.js';
import { SandboxFiles } from '../sandbox/sandbox-files.js';
import {
  buildContainerSpec,
  prepareMounts,
  resolveAppArmor,
  resolveDevices,
  resolveSeccomp,
  ROOT_USER,
  type NodeFacts,
  type ResolvedUser,
} from '../spec/index.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token, type Containers } from '../tokens.js';

/** How long the node may take to say what the mounts' sources are. */
const MOUNT_SOURCES_MS = 120_000;

/** What the container gets that is not in its configuration alone. */
export interface ContainerSurroundings {
  readonly image: IndexedImage;
  readonly features: HandlerFeatures;
  /** Where images are that are volumes, by their place among the mounts. */
  readonly imageVolumes: ReadonlyMap<number, string>;
  /** The volumes that the image declares. */
  readonly volumes: readonly { readonly containerPath: string; readonly hostPath: string }[];
}

/** Makes runtime specs: first what has to be looked up on the node, then the spec itself, once the user is known. */
@scoped(Lifecycle.ContainerScoped)
export class ContainerSpecs {
  constructor(
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(SandboxFiles) private readonly files: SandboxFiles,
  ) {}

  /**
   * @returns a function that gives the spec for a user; without one, for root: containerd wants a spec in a record from the start.
   * @throws ShimError naming the field that cannot be satisfied
   */
  async prepare(
    containerId: string,
    sandbox: SandboxRecord,
    config: ContainerConfig,
    { image, features, imageVolumes, volumes }: ContainerSurroundings,
  ): Promise<(user: ResolvedUser | undefined) => RuntimeSpec> {
    const securityContext = config.linux?.securityContext;
    const [mounts, devices, seccomp, apparmorProfile, targetPid] = await Promise.all([
      prepareMounts(config.mounts, {
        imageVolumes,
        recursiveReadOnly: features.recursiveReadOnlyMounts,
        signal: AbortSignal.timeout(MOUNT_SOURCES_MS),
      }),
      resolveDevices(config.devices, { privileged: securityContext?.privileged ?? false }),
      resolveSeccomp({ securityContext, node: this.node }),
      resolveAppArmor({ securityContext, node: this.node }),
      this.targetPid(sandbox, config),
    ]);
    return (user) =>
      buildContainerSpec({
        id: containerId,
        sandboxId: sandbox.id,
        sandboxPid: sandbox.pid,
        sandboxConfig: sandbox.config,
        podNetnsPath: sandbox.netnsPath === '' ? undefined : sandbox.netnsPath,
        config,
        imageConfig: image.config.config ?? {},
        imageName: image.name,
        user: user ?? ROOT_USER,
        node: this.node,
        files: this.files.paths(sandbox.id, sandbox.config),
        mounts,
        volumes,
        selinuxLevel: sandbox.selinuxLevel,
        devices,
        seccomp,
        apparmorProfile,
        namespace: this.containerd.namespace,
        ...(targetPid === undefined ? {} : { targetPid }),
      });
  }

  /** With PID namespace mode TARGET: the process whose PID namespace is shared, of a container in the same pod. */
  private async targetPid(sandbox: SandboxRecord, config: ContainerConfig): Promise<number | undefined> {
    const options = config.linux?.securityContext?.namespaceOptions;
    if (options?.pid !== NamespaceMode.TARGET) return undefined;
    const field = 'config.linux.security_context.namespace_options.target_id';
    const target = this.containers.find(options.targetId);
    if (target === undefined || target.sandboxId !== sandbox.id) {
      throw invalidArgument(field, `${JSON.stringify(options.targetId)} is no container of the same pod`);
    }
    if (target.phase !== 'running') throw failedPrecondition(`${field}: container ${target.id} does not run`);
    await readlink(`/proc/${target.pid}/ns/pid`).catch((error: unknown) => {
      throw failedPrecondition(`${field}: container ${target.id} does not run: ${(error as Error).message}`);
    });
    return target.pid;
  }
}
