import type { ImageServiceServer, RuntimeServiceServer } from '@criquet/cri-api';
import type { DependencyContainer } from 'tsyringe';
import { Attach } from '../container/attach.js';
import { GetContainerStatus } from '../container/container-status.js';
import { CreateContainer } from '../container/create-container.js';
import { Exec } from '../container/exec.js';
import { ExecSync } from '../container/exec-sync.js';
import { ListContainers } from '../container/list-containers.js';
import { RemoveContainer } from '../container/remove-container.js';
import { ReopenContainerLog } from '../container/reopen-container-log.js';
import { StartContainer } from '../container/start-container.js';
import { StopContainer } from '../container/stop-container.js';
import { ImageFsInfo } from '../image/image-fs-info.js';
import { ImageStatus } from '../image/image-status.js';
import { ListImages } from '../image/list-images.js';
import { PullImage } from '../image/pull-image.js';
import { RemoveImage } from '../image/remove-image.js';
import { RuntimeConfig } from '../runtime/runtime-config.js';
import { RuntimeStatus } from '../runtime/status.js';
import { UpdateRuntimeConfig } from '../runtime/update-runtime-config.js';
import { Version } from '../runtime/version.js';
import { ListPodSandbox } from '../sandbox/list-pod-sandbox.js';
import { GetPodSandboxStatus } from '../sandbox/pod-sandbox-status.js';
import { PortForward } from '../sandbox/port-forward.js';
import { RemovePodSandbox } from '../sandbox/remove-pod-sandbox.js';
import { RunPodSandbox } from '../sandbox/run-pod-sandbox.js';
import { StopPodSandbox } from '../sandbox/stop-pod-sandbox.js';
import type { Handlers } from './bind.js';
import { unimplemented, unimplementedStream } from './unimplemented.js';

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
    streamPodSandboxes: unimplementedStream('StreamPodSandboxes'),
    updatePodSandboxResources: unimplemented('UpdatePodSandboxResources'),
    portForward: root.resolve(PortForward).handle,

    createContainer: root.resolve(CreateContainer).handle,
    startContainer: root.resolve(StartContainer).handle,
    stopContainer: root.resolve(StopContainer).handle,
    removeContainer: root.resolve(RemoveContainer).handle,
    listContainers: root.resolve(ListContainers).handle,
    streamContainers: unimplementedStream('StreamContainers'),
    containerStatus: root.resolve(GetContainerStatus).handle,
    updateContainerResources: unimplemented('UpdateContainerResources'),
    reopenContainerLog: root.resolve(ReopenContainerLog).handle,
    execSync: root.resolve(ExecSync).handle,
    exec: root.resolve(Exec).handle,
    attach: root.resolve(Attach).handle,

    containerStats: unimplemented('ContainerStats'),
    listContainerStats: unimplemented('ListContainerStats'),
    streamContainerStats: unimplementedStream('StreamContainerStats'),
    podSandboxStats: unimplemented('PodSandboxStats'),
    listPodSandboxStats: unimplemented('ListPodSandboxStats'),
    streamPodSandboxStats: unimplementedStream('StreamPodSandboxStats'),
    listMetricDescriptors: unimplemented('ListMetricDescriptors'),
    listPodSandboxMetrics: unimplemented('ListPodSandboxMetrics'),
    streamPodSandboxMetrics: unimplementedStream('StreamPodSandboxMetrics'),
    getContainerEvents: unimplementedStream('GetContainerEvents'),

    checkpointContainer: unimplemented('CheckpointContainer'),
    checkpointPod: unimplemented('CheckpointPod'),
    restorePod: unimplemented('RestorePod'),
  };
}

/** Every call of ImageService. */
export function imageHandlers(root: DependencyContainer): Handlers<ImageServiceServer> {
  return {
    listImages: root.resolve(ListImages).handle,
    streamImages: unimplementedStream('StreamImages'),
    imageStatus: root.resolve(ImageStatus).handle,
    pullImage: root.resolve(PullImage).handle,
    removeImage: root.resolve(RemoveImage).handle,
    imageFsInfo: root.resolve(ImageFsInfo).handle,
  };
}
