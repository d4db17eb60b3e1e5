/** A CRI runtime in memory, for tests. */
export { FakeRuntime, type FakeBehaviour, type ReceivedCall } from './fake-runtime.js';
