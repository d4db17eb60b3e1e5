import type { ImageServiceServer, RuntimeServiceServer } from '@criquet/cri-api';
import type { DependencyContainer } from 'tsyringe';
import { CheckpointContainer } from '../checkpoint/checkpoint-container.js';
import { CheckpointPod } from '../checkpoint/checkpoint-pod.js';
import { RestorePod } from '../checkpoint/restore-pod.js';
import { Attach } from '../container/attach.js';
import { GetContainerStats } from '../container/container-stats.js';
import { GetContainerStatus } from '../container/container-status.js';
import { CreateContainer } from '../container/create-container.js';
import { Exec } from '../container/exec.js';
import { ExecSync } from '../container/exec-sync.js';
import { GetContainerEvents } from '../container/get-container-events.js';
import { ListContainerStats } from '../container/list-container-stats.js';
import { ListContainers } from '../container/list-containers.js';
import { RemoveContainer } from '../container/remove-container.js';
import { ReopenContainerLog } from '../container/reopen-container-log.js';
import { StartContainer } from '../container/start-container.js';
import { StopContainer } from '../container/stop-container.js';
import { StreamContainerStats } from '../container/stream-container-stats.js';
import { StreamContainers } from '../container/stream-containers.js';
import { UpdateContainerResources } from '../container/update-container-resources.js';
import { ImageFsInfo } from '../image/image-fs-info.js';
import { ImageStatus } from '../image/image-status.js';
import { ListImages } from '../image/list-images.js';
import { PullImage } from '../image/pull-image.js';
import { RemoveImage } from '../image/remove-image.js';
import { StreamImages } from '../image/stream-images.js';
import { RuntimeConfig } from '../runtime/runtime-config.js';
import { RuntimeStatus } from '../runtime/status.js';
import { UpdateRuntimeConfig } from '../runtime/update-runtime-config.js';
import { Version } from '../runtime/version.js';
import { ListPodSandboxStats } from '../sandbox/list-pod-sandbox-stats.js';
import { ListPodSandbox } from '../sandbox/list-pod-sandbox.js';
import { GetPodSandboxStats } from '../sandbox/pod-sandbox-stats.js';
import { GetPodSandboxStatus } from '../sandbox/pod-sandbox-status.js';
import { PortForward } from '../sandbox/port-forward.js';
import { RemovePodSandbox } from '../sandbox/remove-pod-sandbox.js';
import { RunPodSandbox } from '../sandbox/run-pod-sandbox.js';
import { StopPodSandbox } from '../sandbox/stop-pod-sandbox.js';
import { StreamPodSandboxStats } from '../sandbox/stream-pod-sandbox-stats.js';
import { StreamPodSandboxes } from '../sandbox/stream-pod-sandboxes.js';
import { UpdatePodSandboxResources } from '../sandbox/update-pod-sandbox-resources.js';
import { ListMetricDescriptors } from '../stats/metrics/list-metric-descriptors.js';
import { ListPodSandboxMetrics } from '../stats/metrics/list-pod-sandbox-metrics.js';
import { StreamPodSandboxMetrics } from '../stats/metrics/stream-pod-sandbox-metrics.js';
import type { Handlers } from './bind.js';

/** Every call of RuntimeService, and the class that serves it. A call that is missing here does not compile. */
export function runtimeHandlers(root: DependencyContainer): Handlers<RuntimeServiceServer> {
  return {
    version: root.resolve(Version).handle,
    status: root.resolve(RuntimeStatus).handle,
    runtimeConfig: root.resolve(RuntimeConfig).handle,
    updateRuntimeConfig: root.resolve(UpdateRuntimeConfig).handle,

    runPodSandbox: root.resolve(RunPodSandbox).handle,
    stopPodSandbox: root.resolve(StopPodSandbox).handle,
    removePodSandbox: root.resolve(RemovePodSandbox).handle,
    podSandboxStatus: root.resolve(GetPodSandboxStatus).handle,
    listPodSandbox: root.resolve(ListPodSandbox).handle,
    streamPodSandboxes: root.resolve(StreamPodSandboxes).handle,
    updatePodSandboxResources: root.resolve(UpdatePodSandboxResources).handle,
    portForward: root.resolve(PortForward).handle,

    createContainer: root.resolve(CreateContainer).handle,
    startContainer: root.resolve(StartContainer).handle,
    stopContainer: root.resolve(StopContainer).handle,
    removeContainer: root.resolve(RemoveContainer).handle,
    listContainers: root.resolve(ListContainers).handle,
    streamContainers: root.resolve(StreamContainers).handle,
    containerStatus: root.resolve(GetContainerStatus).handle,
    updateContainerResources: root.resolve(UpdateContainerResources).handle,
    reopenContainerLog: root.resolve(ReopenContainerLog).handle,
    execSync: root.resolve(ExecSync).handle,
    exec: root.resolve(Exec).handle,
    attach: root.resolve(Attach).handle,

    containerStats: root.resolve(GetContainerStats).handle,
    listContainerStats: root.resolve(ListContainerStats).handle,
    streamContainerStats: root.resolve(StreamContainerStats).handle,
    podSandboxStats: root.resolve(GetPodSandboxStats).handle,
    listPodSandboxStats: root.resolve(ListPodSandboxStats).handle,
    streamPodSandboxStats: root.resolve(StreamPodSandboxStats).handle,
    listMetricDescriptors: root.resolve(ListMetricDescriptors).handle,
    listPodSandboxMetrics: root.resolve(ListPodSandboxMetrics).handle,
    streamPodSandboxMetrics: root.resolve(StreamPodSandboxMetrics).handle,
    getContainerEvents: root.resolve(GetContainerEvents).handle,

    checkpointContainer: root.resolve(CheckpointContainer).handle,
    checkpointPod: root.resolve(CheckpointPod).handle,
    restorePod: root.resolve(RestorePod).handle,
  };
}

/** Every call of ImageService. */
export function imageHandlers(root: DependencyContainer): Handlers<ImageServiceServer> {
  return {
    listImages: root.resolve(ListImages).handle,
    streamImages: root.resolve(StreamImages).handle,
    imageStatus: root.resolve(ImageStatus).handle,
    pullImage: root.resolve(PullImage).handle,
    removeImage: root.resolve(RemoveImage).handle,
    imageFsInfo: root.resolve(ImageFsInfo).handle,
  };
}
