import type { RunPodSandboxRequest } from '@criquet/cri-api';
import type { NetnsUserns, NetworkConfigList } from '@criquet/network-cni';
import { encodeSpec, type Containerd, type ContainerdReport, type Mount } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { resolveAppArmor, type AppArmorProfiles } from '../apparmor/index.js';
import { failedPrecondition } from '../errors.js';
import { withContext } from '../runtime/mount-context.js';
import { RuntimeHandlers, type RuntimeHandler } from '../runtime/runtime-handlers.js';
import {
  buildSandboxSpec,
  hasHostNetwork,
  passthroughAnnotations,
  podUserNamespace,
  resolveSeccomp,
  type NodeFacts,
  type PodUserNamespace,
} from '../spec/index.js';
import { unixNanosAfter } from '../state/clock.js';
import type { Layout } from '../state/layout.js';
import { recordLabels } from '../state/record-labels.js';
import type { RecordFrame } from '../state/record-store.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token, type Sandboxes } from '../tokens.js';
import { usernsObstacle } from '../userns/userns-support.js';
import { PodNetwork } from './pod-network.js';
import { SandboxFiles } from './sandbox-files.js';
import { SandboxRootfs } from './sandbox-rootfs.js';
import { validateSandboxConfig } from './validate-sandbox-config.js';

/** What another call than RunPodSandbox wants in the record: whom the sandbox is for, and that it is not done yet. */
export type SandboxMarks = Partial<Pick<SandboxRecord, 'configDigest' | 'restoring'>>;

/** A sandbox that is to be made. */
export interface NewSandbox {
  readonly id: string;
  readonly name: string;
  readonly request: RunPodSandboxRequest;
  readonly marks: SandboxMarks;
  /** That was chosen for it, where SELinux wants one. */
  readonly selinuxLevel: string | undefined;
}

/** What is known before anything is made. */
export interface SandboxPlan {
  readonly record: SandboxRecord;
  readonly frame: RecordFrame;
  readonly handler: RuntimeHandler;
  /** Empty for a pod on the host's network. */
  readonly networks: readonly NetworkConfigList[];
  readonly rootfs: () => Promise<Mount[]>;
  /** The one that is to own the network namespace. */
  readonly userns: NetnsUserns | undefined;
}

/** Works out what RunPodSandbox is going to make. */
@scoped(Lifecycle.ContainerScoped)
export class SandboxPlanner {
  constructor(
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.ContainerdReport) private readonly report: ContainerdReport,
    @inject(Token.AppArmorProfiles) private readonly apparmor: AppArmorProfiles,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(PodNetwork) private readonly network: PodNetwork,
    @inject(SandboxFiles) private readonly files: SandboxFiles,
    @inject(SandboxRootfs) private readonly rootfs: SandboxRootfs,
  ) {}

  /** @throws ShimError naming the field that cannot be satisfied, or what the node lacks */
  async plan({ id, name, request, marks, selinuxLevel }: NewSandbox): Promise<SandboxPlan> {
    const { config } = validateSandboxConfig(request.config);
    const handler = this.handlers.require(request.runtimeHandler);
    const hostNetwork = hasHostNetwork(config);
    const networks = hostNetwork ? [] : this.network.networks(handler);
    const netnsPath = hostNetwork ? '' : this.layout.netns(id);
    const userns = podUserNamespace(config);
    const obstacle = userns === undefined ? undefined : usernsObstacle(handler, this.report);
    if (obstacle !== undefined) throw failedPrecondition(`config.linux.security_context.namespace_options.userns_options: ${obstacle}`);
    const usernsPath = userns === undefined || hostNetwork ? undefined : this.layout.userns(id);
    const rootfs = await this.rootfs.plan(id, handler.snapshotter, userns);
    const seccomp = await resolveSeccomp({
      securityContext: config.linux?.securityContext,
      node: this.node,
    });
    const apparmorProfile = await resolveAppArmor(config.linux?.securityContext, this.apparmor);
    const spec = buildSandboxSpec({
      id,
      config,
      netnsPath: hostNetwork ? undefined : netnsPath,
      usernsPath,
      node: { ...this.node, cgroupDriver: handler.cgroupDriver },
      files: { shm: this.files.paths(id, config).shm },
      namespace: this.containerd.namespace,
      seccomp,
      selinuxLevel,
      apparmorProfile,
      passthroughAnnotations: passthroughAnnotations(config.annotations, handler.podAnnotations),
      ...(rootfs.imageConfig === undefined ? {} : { imageConfig: rootfs.imageConfig, imageName: rootfs.image }),
    });
    const record: SandboxRecord = {
      id,
      name,
      config,
      configDigest: '',
      runtimeHandler: request.runtimeHandler,
      handler: handler.name,
      snapshotter: rootfs.snapshotter,
      cgroupsPath: spec.linux?.cgroupsPath ?? '',
      phase: 'creating',
      netnsPath,
      ...(usernsPath === undefined ? {} : { usernsPath }),
      networkAttached: networks.length > 0,
      ips: [],
      ...(selinuxLevel === undefined ? {} : { selinuxLevel }),
      pid: 0,
      // A kubelet takes the sandbox of a pod that was created last for the latest.
      createdAt: unixNanosAfter(this.sandboxes.all().filter(({ config: { metadata } }) => metadata?.uid === config.metadata?.uid).map(({ createdAt }) => createdAt)),
      ...marks,
    };
    if (!hostNetwork) this.network.validate(record);
    return {
      userns: userns === undefined || usernsPath === undefined ? undefined : pinnedUserns(usernsPath, userns),
      handler,
      networks,
      rootfs: async () => withContext(await rootfs.mounts(), spec.linux?.mountLabel),
      frame: {
        labels: recordLabels('sandbox', config.labels),
        image: rootfs.image,
        runtime: handler.runtime,
        spec: encodeSpec(spec),
        snapshotter: rootfs.snapshotter,
        snapshotKey: rootfs.snapshotKey,
      },
      record,
    };
  }
}

function pinnedUserns(path: string, { uids, gids }: PodUserNamespace): NetnsUserns {
  return { path, uids: [{ containerId: 0, ...uids }], gids: [{ containerId: 0, ...gids }] };
}
