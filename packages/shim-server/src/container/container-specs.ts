import { join } from 'node:path';
import type { ContainerConfig } from '@criquet/cri-api';
import type { Containerd, RuntimeSpec } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { resolveAppArmor, type AppArmorProfiles } from '../apparmor/index.js';
import { applyEdits, prepareEdits, requestedDevices, type CdiDirectories, type PreparedEdits } from '../cdi/index.js';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition } from '../errors.js';
import type { IndexedImage } from '../image/image-index.js';
import { blockIoClass, rdtClass } from '../resource-classes/index.js';
import { RuntimeHandlers, type RuntimeHandler } from '../runtime/runtime-handlers.js';
import { SandboxFiles } from '../sandbox/sandbox-files.js';
import {
  buildContainerSpec,
  deviceOwner,
  nodePolicy,
  passthroughAnnotations,
  prepareMounts,
  resolveDevices,
  resolveSeccomp,
  ROOT_USER,
  type NodeFacts,
  type NodePolicy,
  type ResolvedUser,
} from '../spec/index.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token, type Containers, type NodeRoots } from '../tokens.js';
import { pidTarget } from './pid-target.js';

/** How long the node may take to say what the mounts' sources are. */
const MOUNT_SOURCES_MS = 120_000;

/** What the container gets that is not in its configuration alone. */
export interface ContainerSurroundings {
  readonly image: IndexedImage;
  /** Where images are that are volumes, by their place among the mounts. */
  readonly imageVolumes: ReadonlyMap<number, string>;
  /** The volumes that the image declares. */
  readonly volumes: readonly { readonly containerPath: string; readonly hostPath: string }[];
}

/** Makes runtime specs: first what has to be looked up on the node, then the spec itself, once the user is known. */
@scoped(Lifecycle.ContainerScoped)
export class ContainerSpecs {
  private readonly policy: NodePolicy;

  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
    @inject(Token.AppArmorProfiles) private readonly apparmor: AppArmorProfiles,
    @inject(Token.CdiDirectories) private readonly cdi: CdiDirectories,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(SandboxFiles) private readonly files: SandboxFiles,
  ) {
    this.policy = nodePolicy(config);
  }

  /**
   * @returns a function that gives the spec for a user; without one, for root: containerd wants a spec in a record from the start.
   * @throws ShimError naming the field that cannot be satisfied
   */
  async prepare(
    containerId: string,
    sandbox: SandboxRecord,
    config: ContainerConfig,
    { image, imageVolumes, volumes }: ContainerSurroundings,
  ): Promise<(user: ResolvedUser | undefined) => RuntimeSpec> {
    const securityContext = config.linux?.securityContext;
    const handler = this.handlers.of(sandbox);
    const { deviceOwnershipFromSecurityContext } = this.config.devices;
    const [mounts, devices, seccomp, apparmorProfile, targetPid, edits, classes] = await Promise.all([
      prepareMounts(config.mounts, {
        imageVolumes,
        recursiveReadOnly: handler.features.recursiveReadOnlyMounts,
        idmapped: handler.features.idmappedMounts,
        signal: AbortSignal.timeout(MOUNT_SOURCES_MS),
      }),
      resolveDevices(config.devices, {
        privileged: securityContext?.privileged ?? false,
        privilegedDevices: handler.privilegedDevices,
        ...(deviceOwnershipFromSecurityContext && { owner: deviceOwner(securityContext) }),
      }),
      resolveSeccomp({ securityContext, node: this.node }),
      resolveAppArmor(securityContext, this.apparmor),
      pidTarget(this.containers, sandbox.id, config),
      this.deviceEdits(handler, config),
      this.classes(sandbox, config),
    ]);
    return (user) => {
      const spec = buildContainerSpec({
        id: containerId,
        sandboxId: sandbox.id,
        sandboxPid: sandbox.pid,
        sandboxConfig: sandbox.config,
        podNetnsPath: sandbox.netnsPath === '' ? undefined : sandbox.netnsPath,
        config,
        imageConfig: image.config.config ?? {},
        imageName: image.name,
        user: user ?? ROOT_USER,
        node: { ...this.node, cgroupDriver: handler.cgroupDriver },
        files: this.files.paths(sandbox.id, sandbox.config),
        mounts,
        volumes,
        selinuxLevel: sandbox.selinuxLevel,
        devices,
        seccomp,
        apparmorProfile,
        namespace: this.containerd.namespace,
        policy: this.policy,
        ...classes,
        handler,
        passthroughAnnotations: {
          ...passthroughAnnotations(sandbox.config.annotations, handler.podAnnotations),
          ...passthroughAnnotations(config.annotations, handler.containerAnnotations),
        },
        ...(targetPid === undefined ? {} : { targetPid }),
      });
      return edits === undefined ? spec : applyEdits(spec, edits);
    };
  }

  private async deviceEdits(handler: RuntimeHandler, config: ContainerConfig): Promise<PreparedEdits | undefined> {
    const edits = await prepareEdits(await this.cdi.editsFor(requestedDevices(config)));
    // A runtime that does not know them would leave them out without a word.
    if (edits !== undefined && edits.netDevices.length > 0 && !handler.features.networkDevices) {
      throw failedPrecondition(`config.CDI_devices: runtime handler ${handler.name} cannot move network interfaces into a container`);
    }
    return edits;
  }

  private async classes(sandbox: SandboxRecord, config: ContainerConfig) {
    const { blockioConfigFile, ignoreBlockioNotEnabledErrors, ignoreRdtNotEnabledErrors } = this.config.resources;
    const container = {
      name: config.metadata?.name ?? '',
      annotations: config.annotations,
      podAnnotations: sandbox.config.annotations,
    };
    const [blockIo, rdt] = await Promise.all([
      blockIoClass(container, { configFile: blockioConfigFile, ignoreNotEnabled: ignoreBlockioNotEnabledErrors }),
      rdtClass(container, { ignoreNotEnabled: ignoreRdtNotEnabledErrors }, join(this.roots.sys, 'fs/resctrl')),
    ]);
    return { blockIo, rdtClass: rdt };
  }
}
