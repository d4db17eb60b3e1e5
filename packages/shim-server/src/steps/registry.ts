/**
 * Every step of every call that changes something, and of the work that criquet does by itself. A step that is not listed does not compile, so
 * this list is what a test has to go through that wants to be everywhere.
 *
 * `steps` go forward; `undo` is what a call that fails takes back; `earlier` is how a creation first removes what an earlier one of the same name
 * could not take back. Work that several calls share is spread into the list of each.
 */

const EXIT_BY_FORCE = ['kill the container', 'wait for its end'] as const;

const EXEC = [
  'read the process of the container',
  'open the FIFOs',
  'create the exec process',
  'start the exec process',
  'wait for the exec process',
] as const;

/** After every command, not only after one that failed. */
const EXEC_UNDO = ['wait for the start', 'delete the exec process', 'close standard input', 'stop reading', 'remove the FIFOs', 'remove the directory of the FIFOs'] as const;

const CAPTURE = [
  'record the checkpoint',
  'pause',
  'dump the processes',
  'read the root file system',
  'read the shared memory',
  'resume',
  'write the archive',
  'end the checkpoint',
] as const;

/** What is left of a container that does not run. */
const DISCARD_CONTAINER = [
  'end the restore',
  'delete the task',
  'remove the cgroup',
  'remove the FIFOs',
  'remove the snapshot',
  'remove the image volumes',
  'remove the volumes of the image',
  'remove the checkpoint',
  'remove the container record',
] as const;

const STOP_SANDBOX = [
  'remove the pause process',
  'detach from the pod network',
  'release the namespaces',
  'unmount shared memory',
  'record that it has stopped',
] as const;

const DISCARD_SANDBOX = [
  'remove the cgroup of the pause process',
  'remove the sandbox from its store',
  'remove the pod files',
  'remove the snapshot of the pause process',
  'remove the sandbox record',
] as const;

export const CALL_STEPS = {
  RunPodSandbox: {
    earlier: [...STOP_SANDBOX, ...DISCARD_SANDBOX],
    steps: [
      'plan',
      'write the record',
      'write the pod files',
      'pin the network namespace',
      'put the sandbox into its store',
      'attach to the pod network',
      'create the pause process',
      'record that it is ready',
    ],
    undo: [
      'remove the record',
      'remove the pod files',
      'remove the sandbox from its store',
      'release the network namespace',
      'release the user namespace',
      'detach from the pod network',
      'remove the pause process',
      'record that it has failed',
    ],
  },
  /** Behind the answer of RunPodSandbox, or at the start of a daemon that finds it not done. */
  PauseStart: { steps: ['start the pause process'], undo: [] },
  CreateContainer: {
    earlier: DISCARD_CONTAINER,
    steps: [
      'read the checkpoint',
      'check the configuration',
      'plan',
      'write the record',
      'mount the image volumes',
      'label the mounts',
      'prepare the snapshot',
      'fill the volumes of the image',
      'look up the user',
      'bring back the checkpoint',
      'write the spec',
    ],
    undo: [
      'remove the record',
      'remove the image volumes',
      'remove the snapshot',
      'remove the volumes of the image',
      'remove the checkpoint',
      'record that it is not whole',
    ],
  },
  StartContainer: {
    steps: ['open the log and FIFOs', 'find the root file system', 'create the task', 'start the task', 'record the start error'],
    undo: ['close the FIFOs', 'delete the task', 'end the restore'],
  },
  StopContainer: { steps: ['send the stop signal', ...EXIT_BY_FORCE], undo: [] },
  RemoveContainer: { steps: [...EXIT_BY_FORCE, ...DISCARD_CONTAINER], undo: [] },
  StopPodSandbox: { steps: ['end a shim that hangs', 'stop the containers', ...EXIT_BY_FORCE, ...STOP_SANDBOX], undo: [] },
  /** Also the removal of a restored pod that is taken back. */
  RemovePodSandbox: {
    steps: [
      'end a shim that hangs',
      'remove the containers',
      ...EXIT_BY_FORCE,
      ...DISCARD_CONTAINER,
      ...STOP_SANDBOX,
      ...DISCARD_SANDBOX,
    ],
    undo: [],
  },
  /** Also a pull of `sandbox_image`, and of a checkpoint's image. */
  PullImage: {
    steps: ['lease what is pulled', 'transfer the image', 'read the image', 'unpack the image', 'name the image'],
    undo: ['delete the lease'],
  },
  ExecSync: { steps: EXEC, undo: EXEC_UNDO },
  /** The command of a streaming client. */
  Exec: { steps: EXEC, undo: EXEC_UNDO },
  UpdateContainerResources: {
    steps: ['read the spec', 'update the cgroup', 'write the spec and the record'],
    undo: ['set the old limits', 'write the old spec and record'],
  },
  CheckpointContainer: { steps: [...CAPTURE, 'put the archive in place'], undo: [] },
  CheckpointPod: { steps: CAPTURE, undo: [] },
  RestorePod: {
    steps: ['read the checkpoint', 'run the sandbox', 'create the containers', 'record that it is restored'],
    undo: ['remove the pod', 'record that it is half restored'],
  },

  /** A container has ended. */
  ContainerExit: { steps: ['read the rest of the output', 'record the exit', 'delete the task', 'remove the FIFOs'], undo: [] },
  /** The start of the daemon. */
  Recovery: { steps: [...DISCARD_CONTAINER, 'end the checkpoint'], undo: [] },
  /** What is tried again after it failed: a pod's teardown, and the removal of a container whose creation could not be undone. */
  OwedTeardown: { steps: [...STOP_SANDBOX, ...DISCARD_SANDBOX], undo: [] },
  OwedContainerRemoval: { steps: DISCARD_CONTAINER, undo: [] },
} as const satisfies Readonly<Record<string, CallSteps>>;

interface CallSteps {
  readonly earlier?: readonly string[];
  readonly steps: readonly string[];
  readonly undo: readonly string[];
}

type EarlierOf<C extends Call> = (typeof CALL_STEPS)[C] extends { readonly earlier: readonly (infer S extends string)[] } ? S : never;

export type Call = keyof typeof CALL_STEPS;
export type StepOf<C extends Call> = (typeof CALL_STEPS)[C]['steps'][number] | EarlierOf<C>;
export type UndoOf<C extends Call> = (typeof CALL_STEPS)[C]['undo'][number];

/** `<Call>/<step>`, and `<Call>/undo: <what>`. */
export type Place = { [C in Call]: `${C}/${StepOf<C>}` | `${C}/undo: ${UndoOf<C>}` }[Call];

export type EndStep = (typeof EXIT_BY_FORCE)[number];
export type ExecStep = (typeof EXEC)[number];
export type ExecUndoStep = (typeof EXEC_UNDO)[number];
export type CaptureStep = (typeof CAPTURE)[number];
export type DiscardContainerStep = (typeof DISCARD_CONTAINER)[number];
export type StopSandboxStep = (typeof STOP_SANDBOX)[number];
export type DiscardSandboxStep = (typeof DISCARD_SANDBOX)[number];

/** Every place, in the order of the registry. */
export function allPlaces(): Place[] {
  return Object.entries<CallSteps>(CALL_STEPS).flatMap(([call, { earlier = [], steps, undo }]) => [
    ...[...earlier, ...steps].map((step) => `${call}/${step}` as Place),
    ...undo.map((what) => `${call}/undo: ${what}` as Place),
  ]);
}
