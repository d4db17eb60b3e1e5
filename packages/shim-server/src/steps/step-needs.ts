import type { Call, Place, StepOf, UndoOf } from './registry.js';

/** What has to be there before a step has anything to do, where an ordinary pod, container or image is not enough. */
export type Need =
  | 'a pod network'
  | 'a user namespace'
  /** `sandbox_image` in the configuration. */
  | 'a sandbox image'
  /** A container that mounts another image, and whose own image declares volumes. */
  | 'volumes'
  /** A policy that knows containers. */
  | 'SELinux'
  /** CRIU, and a container made of a checkpoint. */
  | 'a checkpoint'
  /** A shim that was stopped. */
  | 'a hung shim'
  /** A snapshotter that containerd's transfer service does not unpack for. */
  | 'a snapshotter of its own';

/** By step, or by what is undone, whatever the call; what is not named needs nothing. Whoever goes through the registry has to provide it. */
const STEP_NEEDS: Readonly<Partial<Record<StepOf<Call> | UndoOf<Call>, Need>>> = {
  'attach to the pod network': 'a pod network',
  'detach from the pod network': 'a pod network',
  'release the user namespace': 'a user namespace',
  'remove the snapshot of the pause process': 'a sandbox image',
  'mount the image volumes': 'volumes',
  'remove the image volumes': 'volumes',
  'fill the volumes of the image': 'volumes',
  'remove the volumes of the image': 'volumes',
  'label the mounts': 'SELinux',
  'end a shim that hangs': 'a hung shim',
  'unpack the image': 'a snapshotter of its own',
  'record the checkpoint': 'a checkpoint',
  pause: 'a checkpoint',
  'dump the processes': 'a checkpoint',
  'read the root file system': 'a checkpoint',
  'read the shared memory': 'a checkpoint',
  resume: 'a checkpoint',
  'write the archive': 'a checkpoint',
  'put the archive in place': 'a checkpoint',
  'end the checkpoint': 'a checkpoint',
  'read the checkpoint': 'a checkpoint',
  'bring back the checkpoint': 'a checkpoint',
  'run the sandbox': 'a checkpoint',
  'create the containers': 'a checkpoint',
  'record that it is restored': 'a checkpoint',
  'remove the pod': 'a checkpoint',
  'record that it is half restored': 'a checkpoint',
  'end the restore': 'a checkpoint',
  'remove the checkpoint': 'a checkpoint',
};

export function needOf(place: Place): Need | undefined {
  const step = place.slice(place.indexOf('/') + 1).replace(/^undo: /, '');
  return (STEP_NEEDS as Readonly<Record<string, Need>>)[step];
}
