import type { LinuxContainerResources, UpdateContainerResourcesRequest, UpdateContainerResourcesResponse } from '@criquet/cri-api';
import {
  decodeSpec,
  encodeResources,
  encodeSpec,
  isTaskGone,
  type Containerd,
  type LinuxResources,
  type RuntimeSpec,
} from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import type { CriquetConfig } from '../config/index.js';
import { buildResources, mergeResources, nodePolicy, type NodeFacts } from '../spec/index.js';
import type { ContainerRecord } from '../state/container-record.js';
import { orAbort } from '../state/keyed-mutex.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Rollback } from '../steps/rollback.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers } from '../tokens.js';
import { ContainerLocks } from './container-locks.js';

const FIELD = 'linux';

/**
 * CRI UpdateContainerResources: the cgroup of a running container, then the runtime spec and the record together. What the request
 * leaves unset stays as it is. An error leaves all three with the old values.
 *
 * A container that does not run has only its spec and record changed: one that was created starts with the new values.
 */
@scoped(Lifecycle.ContainerScoped)
export class UpdateContainerResources {
  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(ContainerLocks) private readonly locks: ContainerLocks,
  ) {}

  readonly handle: UnaryCall<UpdateContainerResourcesRequest, UpdateContainerResourcesResponse> = async (request, { signal, log }) => {
    const { id } = this.containers.require(request.containerId);
    const { linux, annotations } = request;
    if (linux === undefined) {
      if (request.windows !== undefined) throw invalidArgument('windows', 'this is a Linux node');
      return {};
    }
    // It runs to its end when the caller goes away: half an update is neither the old nor the new values.
    await orAbort(
      this.locks.run(id, signal, () => this.update(id, linux, annotations, log)),
      signal,
    );
    return {};
  };

  private async update(
    id: string,
    update: LinuxContainerResources,
    annotations: Readonly<Record<string, string>>,
    log: Logger,
  ): Promise<void> {
    const container = this.containers.require(id);
    if (container.phase === 'creating') throw failedPrecondition(`container ${id} is being created`);
    const steps = Steps.of('UpdateContainerResources', this.failpoints, log);
    const rollback = Rollback.of('UpdateContainerResources', this.failpoints, log);
    const merged = mergeResources(container.config.linux?.resources, update);
    const built = buildResources(FIELD, merged, this.node, nodePolicy(this.config));
    const spec = await steps.do('read the spec', () => this.spec(id));
    const changed = withResources(spec, built);
    try {
      if (container.phase === 'running') {
        await steps.do('update the cgroup', async () => {
          rollback.add('set the old limits', (signal) => this.updateTask(id, oldLimits(spec, changed), {}, signal));
          await this.updateTask(id, checkedFirst(changed.linux?.resources ?? {}), annotations);
        });
      }
      await steps.do('write the spec and the record', async () => {
        rollback.add('write the old spec and record', () =>
          this.write(id, (record) => ({ ...record, config: container.config }), spec),
        );
        await this.write(id, (record) => withLinuxResources(record, merged), changed);
      });
    } catch (error) {
      // Nothing to be told of here: a failed undo is logged, and whoever asks again sets all values anew.
      await rollback.run();
      throw error;
    }
  }

  private async spec(id: string): Promise<RuntimeSpec> {
    const { spec } = await this.containerd.containers.get(id);
    if (spec === undefined) throw failedPrecondition(`container ${id} has no runtime spec`);
    return decodeSpec(spec);
  }

  private async write(id: string, change: (record: ContainerRecord) => ContainerRecord, spec: RuntimeSpec): Promise<void> {
    await this.containers.updateWithSpec(id, change, encodeSpec(spec));
  }

  /** A container that has just ended needs no limits any more. */
  private async updateTask(
    id: string,
    resources: LinuxResources,
    annotations: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<void> {
    try {
      await this.containerd.tasks.update(
        { containerId: id, resources: encodeResources(resources), annotations },
        signal === undefined ? {} : { signal },
      );
    } catch (error) {
      if (!isTaskGone(error)) throw error;
    }
  }
}

function withResources(spec: RuntimeSpec, built: LinuxResources): RuntimeSpec {
  const before = spec.linux?.resources ?? {};
  const resources: LinuxResources = {
    ...before,
    ...built,
    ...(before.cpu || built.cpu ? { cpu: { ...before.cpu, ...built.cpu } } : {}),
    ...(before.memory || built.memory ? { memory: { ...before.memory, ...built.memory } } : {}),
  };
  return { ...spec, linux: { ...spec.linux, resources } };
}

/** cgroup v2 kills processes when a limit is set below what they use; runc then refuses instead, as v1 does by itself. */
function checkedFirst(resources: LinuxResources): LinuxResources {
  return resources.memory === undefined ? resources : { ...resources, memory: { ...resources.memory, checkBeforeUpdate: true } };
}

/** The old values, and "unlimited" for what had none: the runtime leaves alone what an update does not name. */
function oldLimits(spec: RuntimeSpec, changed: RuntimeSpec): LinuxResources {
  const before = spec.linux?.resources ?? {};
  const after = changed.linux?.resources ?? {};
  return {
    ...before,
    cpu: {
      ...(after.cpu?.quota === undefined ? {} : { quota: -1 }),
      ...(after.cpu?.shares === undefined ? {} : { shares: 1024 }),
      ...before.cpu,
    },
    memory: {
      ...(after.memory?.limit === undefined ? {} : { limit: -1 }),
      ...(after.memory?.swap === undefined ? {} : { swap: -1 }),
      ...before.memory,
    },
  };
}

function withLinuxResources(record: ContainerRecord, resources: LinuxContainerResources): ContainerRecord {
  const { linux } = record.config;
  return { ...record, config: { ...record.config, linux: { securityContext: undefined, ...linux, resources } } };
}
