export {
  FakePluginRunner,
  attaching,
  exited,
  failedWith,
  passing,
  type FakePlugin,
  type FakePluginCall,
} from './fake-plugin-runner.js';
export { FakeNetnsProvider } from './fake-netns-provider.js';
