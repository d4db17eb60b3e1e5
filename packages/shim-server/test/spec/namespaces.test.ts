import { NamespaceMode, NamespaceOption, type DeepPartial } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { containerNamespaces, sandboxNamespaces } from '../../src/spec/namespaces.js';
import { errorOf, sandboxConfig } from './fixtures.js';

const withOptions = (namespaceOptions: DeepPartial<NamespaceOption>) =>
  sandboxConfig({ linux: { securityContext: { namespaceOptions } } });

void t.test('sandbox: its own namespaces, the network pinned', async (t) => {
  t.same(sandboxNamespaces(sandboxConfig(), '/run/netns/x'), [
    { type: 'mount' },
    { type: 'network', path: '/run/netns/x' },
    { type: 'uts' },
    { type: 'pid' },
    { type: 'ipc' },
  ]);
  t.match((await errorOf(() => sandboxNamespaces(sandboxConfig(), undefined))).message, /network/);
});

void t.test("sandbox: the node's namespaces, with the network also UTS", (t) => {
  const node = withOptions({ network: NamespaceMode.NODE, pid: NamespaceMode.NODE, ipc: NamespaceMode.NODE });
  t.same(sandboxNamespaces(node, undefined), [{ type: 'mount' }]);
  t.end();
});

function forContainer(
  options: DeepPartial<NamespaceOption> | undefined,
  change: Partial<Parameters<typeof containerNamespaces>[0]> = {},
) {
  return containerNamespaces({
    sandboxConfig: sandboxConfig(),
    options: options && NamespaceOption.fromPartial(options),
    sandboxPid: 42,
    podNetnsPath: '/run/netns/x',
    targetPid: undefined,
    privileged: false,
    cgroup: 'v1',
    ...change,
  });
}

void t.test('container: joins the pod', (t) => {
  t.same(forContainer(undefined), [
    { type: 'mount' },
    { type: 'network', path: '/run/netns/x' },
    { type: 'uts', path: '/proc/42/ns/uts' },
    { type: 'ipc', path: '/proc/42/ns/ipc' },
    { type: 'pid', path: '/proc/42/ns/pid' },
  ]);
  t.same(forContainer(undefined, { podNetnsPath: undefined })[1], { type: 'network', path: '/proc/42/ns/net' });
  t.end();
});

void t.test('container: PID modes', async (t) => {
  const pid = (list: ReturnType<typeof forContainer>) => list.find(({ type }) => type === 'pid');
  t.same(pid(forContainer({ pid: NamespaceMode.CONTAINER })), { type: 'pid' });
  t.same(pid(forContainer({ pid: NamespaceMode.TARGET, targetId: 'x' }, { targetPid: 77 })), {
    type: 'pid',
    path: '/proc/77/ns/pid',
  });
  t.match((await errorOf(() => forContainer({ pid: NamespaceMode.TARGET }))).message, /target_id/);
  t.match((await errorOf(() => forContainer({ pid: NamespaceMode.NODE }))).message, /\.pid: NODE needs/);
  t.match((await errorOf(() => forContainer({ pid: 9 as NamespaceMode }))).message, /unknown mode 9/);
});

void t.test("container: in a pod of the node's namespaces joins none", (t) => {
  const node = { network: NamespaceMode.NODE, pid: NamespaceMode.NODE, ipc: NamespaceMode.NODE };
  t.same(forContainer(node, { sandboxConfig: withOptions(node) }), [{ type: 'mount' }]);
  t.same(forContainer({}, { sandboxConfig: withOptions(node) }), [{ type: 'mount' }], 'POD is what the pod has');
  t.end();
});

void t.test('container: a cgroup namespace on v2, not for privileged', (t) => {
  const cgroup = (list: ReturnType<typeof forContainer>) => list.some(({ type }) => type === 'cgroup');
  t.ok(cgroup(forContainer(undefined, { cgroup: 'v2' })));
  t.notOk(cgroup(forContainer(undefined, { cgroup: 'v2', privileged: true })));
  t.notOk(cgroup(forContainer(undefined)));
  t.end();
});

const mapping = { hostId: 100000, containerId: 0, length: 65536 };
const userns = { usernsOptions: { mode: NamespaceMode.POD, uids: [mapping], gids: [mapping] } };

void t.test('user namespaces: pinned with the network, made by the runtime without, joined by containers', (t) => {
  t.same(sandboxNamespaces(withOptions(userns), '/run/netns/x', '/run/userns/x').slice(0, 3), [
    { type: 'mount' },
    { type: 'user', path: '/run/userns/x' },
    { type: 'network', path: '/run/netns/x' },
  ]);
  const host = withOptions({ ...userns, network: NamespaceMode.NODE });
  t.same(sandboxNamespaces(host, undefined), [{ type: 'mount' }, { type: 'user' }, { type: 'pid' }, { type: 'ipc' }]);
  t.same(forContainer(userns, { sandboxConfig: withOptions(userns) })[1], { type: 'user', path: '/proc/42/ns/user' });
  t.same(forContainer({ ...userns, network: NamespaceMode.NODE }, { sandboxConfig: host })[1], { type: 'user', path: '/proc/42/ns/user' });
  t.end();
});

void t.test("user namespaces: a container has its pod's; NODE is the same as none", async (t) => {
  t.match(await errorOf(() => forContainer(userns)), { code: status.INVALID_ARGUMENT, message: /userns_options: one of 65536/ });
  const inPod = { sandboxConfig: withOptions(userns) };
  t.match(await errorOf(() => forContainer(undefined, inPod)), { code: status.INVALID_ARGUMENT, message: /the node's user namespace, while/ });
  t.equal(forContainer({ usernsOptions: { mode: NamespaceMode.NODE } }).length, 5);
  t.match(
    (await errorOf(() => forContainer({ usernsOptions: { mode: NamespaceMode.NODE, uids: [mapping] } }))).message,
    /mappings/,
  );
  t.match((await errorOf(() => forContainer({ usernsOptions: { mode: NamespaceMode.TARGET } }))).message, /mode: TARGET/);
});
