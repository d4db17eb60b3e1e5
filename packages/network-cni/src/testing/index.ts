export { FakePluginRunner, type FakePlugin, type FakePluginCall } from './fake-plugin-runner.js';
export { FakeNetnsProvider } from './fake-netns-provider.js';
