import { component, honoured, type MessageFacts } from '../facts.js';

const container = component('checkpoint-container');
const pod = component('checkpoint-pod');

const ARCHIVE = container('CheckpointContainer: an archive at location, mode 0600, of processes, root file system, log and documents');
const POD = pod('CheckpointPod: all are paused before the first is dumped, and all go on');
const POD_REFUSED = pod('CheckpointPod: what it refuses, by field');
const RESTORE = pod('RestorePod: a sandbox and created containers, by name, that StartContainer restores');
const RESTORE_REFUSED = pod('RestorePod: what it refuses, by field; nothing is made');

/** Checkpoints by CRIU; without it FailedPrecondition says what is missing. */
export const CHECKPOINT = {
  CheckpointContainerRequest: {
    container_id: honoured('a running container; it goes on', ARCHIVE),
    location: honoured('the absolute path of the archive, mode 0600', ARCHIVE),
    timeout: honoured('seconds; 0 is the configured one', container('CheckpointContainer.timeout: seconds, the configuration\'s for 0; nothing is left and the container goes on')),
  },
  CheckpointPodRequest: {
    pod_sandbox_id: honoured('a ready pod', POD),
    output_path: honoured('an empty directory; nothing is left in it after an error', POD),
    container_ids: honoured('running containers of the pod, each once', POD),
    options: honoured('none is known: any is InvalidArgument', POD_REFUSED),
  },
  RestorePodRequest: {
    checkpoint_path: honoured('what CheckpointPod wrote; it is not changed', RESTORE),
    config: honoured('the new pod', RESTORE),
    runtime_handler: honoured('an unknown one is InvalidArgument', RESTORE_REFUSED),
    options: honoured('none is known: any is InvalidArgument', RESTORE_REFUSED),
    container_configs: honoured('exactly the containers of the checkpoint, by name; what cannot be restored differently is refused', RESTORE),
  },
  RestorePodResponse: {
    pod_sandbox_id: honoured('of the new pod', RESTORE),
    restored_containers: honoured('created; StartContainer restores their processes', RESTORE),
  },
  RestoredContainer: {
    name: honoured('as in the checkpoint', RESTORE),
    container_id: honoured('of the new container', RESTORE),
  },
} satisfies MessageFacts;
