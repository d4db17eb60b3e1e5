// The fake
export { FakeContainerd, type FakeContainerdOptions } from './fake-containerd.js';
export type { FakePlugin } from './introspection.js';

// Making calls fail
export { CallControl, type Failpoint, type RecordedCall, type Remove } from './call-control.js';
export { FakeStatus } from './fake-status.js';

// Its processes
export type { FakeProcess, FakeProcessInit, FakeProgram } from './fake-process.js';
export type { FakeTask } from './fake-task.js';
export type { TaskService } from './tasks.js';

// Its images and registry
export { fakeImage, fakeImageRecord, type FakeImage, type FakeImageOptions } from './fake-image.js';
export type { FakeAuthAnswer, FakePullable, FakeRegistry } from './fake-registry.js';

// Its state
export type { EventExchange } from './events.js';
export type { Blob, Ingest, LeaseState, NamespaceState, Snapshot } from './namespace-state.js';
