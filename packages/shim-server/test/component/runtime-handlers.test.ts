import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import { Shim } from './shim-harness.js';
import { withHandlers } from './with-handlers.js';

test('X8 runtime handlers: features are those of the runtime binary and the kernel, the default stands under "" too', async (t) => {
  const shim = await Shim.start({
    change: withHandlers({
      old: { binaryName: '/opt/old/runc' },
      mute: { binaryName: 'mute' },
      absent: { binaryName: 'absent' },
      'no-idmap': { binaryName: 'no-idmap' },
      vm: { runtimeType: 'io.containerd.vm.v1' },
    }),
    node: { nodeFacts: { mountSetattr: true, userNamespaces: true } },
    prepare: ({ ociRuntimes }) => {
      ociRuntimes.set('/opt/old/runc', { ociVersionMin: '1.0.0', mountOptions: ['ro', 'rbind'], linux: { namespaces: ['mount', 'pid'] } });
      ociRuntimes.set('mute', undefined);
      ociRuntimes.set('no-idmap', { mountOptions: ['rro'], linux: { namespaces: ['user'], mountExtensions: { idmap: { enabled: false } } } });
    },
  });
  t.teardown(() => shim.close());
  const { runtimeHandlers, features } = await shim.cri.runtime.status({});
  const told = Object.fromEntries(runtimeHandlers.map(({ name, features: own }) => [name, [own?.recursiveReadOnlyMounts, own?.userNamespaces]]));
  t.same(told, {
    '': [true, true],
    runc: [true, true],
    old: [false, false],
    mute: [false, false],
    absent: [false, false],
    'no-idmap': [true, false],
    vm: [false, false],
  });
  t.match(features, { supplementalGroupsPolicy: true, mountOptions: true });
  const warnings = shim.logLines.map((line) => JSON.parse(line) as { level: number; runtimeHandler?: string; reason?: string }).filter(({ level, runtimeHandler }) => level === 40 && runtimeHandler !== undefined);
  t.same(warnings.map(({ runtimeHandler }) => runtimeHandler).sort(), ['absent', 'mute', 'vm']);
  t.match(warnings.find(({ runtimeHandler }) => runtimeHandler === 'absent')?.reason, /path of "absent"/);
});

test('X8 runtime handlers: a kernel without mount_setattr has neither, whatever the runtime says', async (t) => {
  const shim = await Shim.start({ node: { nodeFacts: { mountSetattr: false } } });
  t.teardown(() => shim.close());
  const { runtimeHandlers } = await shim.cri.runtime.status({});
  t.match(runtimeHandlers, [
    { name: '', features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
    { name: 'runc', features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
  ]);
});

test('X8 runtime handlers: a kernel without user namespaces has none', async (t) => {
  const shim = await Shim.start({ node: { nodeFacts: { mountSetattr: true, userNamespaces: false } } });
  t.teardown(() => shim.close());
  const { runtimeHandlers } = await shim.cri.runtime.status({});
  t.match(runtimeHandlers[0], { features: { recursiveReadOnlyMounts: true, userNamespaces: false } });
});

test('X8 runtime handlers: a containerd that does not answer the question for features is served with', async (t) => {
  const shim = await Shim.start({ prepare: ({ control }) => void control.fail('introspection.pluginInfo', { code: status.UNIMPLEMENTED, details: 'no' }) });
  t.teardown(() => shim.close());
  t.match((await shim.cri.runtime.status({})).runtimeHandlers[0], { name: '', features: { recursiveReadOnlyMounts: false, userNamespaces: false } });
});

test('X8 runtime handlers: "nope" is an error that names it, and nothing is left', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const before = shim.containerd.control.calls.length;
  await t.rejects(shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig(), runtimeHandler: 'nope' }), {
    code: status.INVALID_ARGUMENT,
    details: /runtime_handler.*"nope".*runc/,
  });
  t.same(shim.containerd.control.calls.slice(before), [], 'containerd heard nothing');
  t.same(await shim.leftovers(), []);
  t.same((await shim.cri.runtime.listPodSandbox({})).items, []);
  t.match(await shim.runPod(), /^[0-9a-f]{64}$/, 'and the name is free');
});

test('X8 runtime handlers: echoed in lists and status, also after a restart', async (t) => {
  const shim = await Shim.start({ change: withHandlers({ special: {} }) });
  t.teardown(() => shim.close());
  const { podSandboxId } = await shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig(), runtimeHandler: 'special' });
  const check = async () => {
    t.equal((await shim.cri.runtime.listPodSandbox({})).items[0]?.runtimeHandler, 'special');
    t.equal((await shim.cri.runtime.podSandboxStatus({ podSandboxId })).status?.runtimeHandler, 'special');
  };
  await check();
  await shim.restart();
  await check();
});
