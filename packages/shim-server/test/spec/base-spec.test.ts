import type { RuntimeSpec } from '@criquet/runtime-containerd';
import { test } from 'tap';
import { baseCapabilities, withBaseSpec } from '../../src/spec/base-spec.js';
import { buildContainerSpec } from '../../src/spec/container-spec.js';
import { containerConfig, containerInput } from './fixtures.js';

const own: RuntimeSpec = {
  ociVersion: '1.1.0',
  process: { user: { uid: 1, gid: 2 }, args: ['own'], cwd: '/own', env: ['A=own'], noNewPrivileges: false },
  root: { path: 'rootfs' },
  mounts: [
    { destination: '/proc', type: 'proc', source: 'proc' },
    { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['ro'] },
    { destination: '/data', type: 'bind', source: '/own' },
    { destination: '/a/b/c', type: 'bind', source: '/own' },
  ],
  annotations: { who: 'own' },
  linux: {
    cgroupsPath: '/own',
    maskedPaths: ['/own'],
    namespaces: [{ type: 'pid' }, { type: 'network', path: '/own' }],
    resources: { devices: [{ allow: false, access: 'rwm' }], memory: { limit: 1 } },
  },
};
const merge = (base: Partial<RuntimeSpec>, privileged = false) => withBaseSpec({ ociVersion: '1.0.2', ...base }, own, { privileged });

test('who the process is, its namespaces, cgroup, masked paths and host name are never the base\'s', (t) => {
  const merged = merge({
    hostname: 'base',
    domainname: 'base',
    root: { path: '/base' },
    process: { user: { uid: 0, gid: 0 }, args: ['base'], cwd: '/base', env: ['A=base', 'B=base'], noNewPrivileges: true, selinuxLabel: 'base', terminal: true },
    linux: {
      cgroupsPath: '/base',
      maskedPaths: ['/base'],
      namespaces: [{ type: 'user' }, { type: 'network' }, { type: 'time' }],
      uidMappings: [{ containerID: 0, hostID: 1, size: 1 }],
      mountLabel: 'base',
    },
  });
  t.same(merged.process, { ...own.process, env: ['B=base', 'A=own'] });
  t.same(merged.root, own.root);
  t.notOk('hostname' in merged || 'domainname' in merged);
  t.same(merged.linux?.namespaces, [{ type: 'time' }, ...(own.linux?.namespaces ?? [])]);
  t.match(merged.linux, { cgroupsPath: '/own', maskedPaths: ['/own'] });
  t.notOk('uidMappings' in (merged.linux ?? {}) || 'mountLabel' in (merged.linux ?? {}));
  t.end();
});

test('a filter or profile of the base holds unless the pod has one, or is privileged', (t) => {
  const base = { process: { user: { uid: 0, gid: 0 }, cwd: '/', apparmorProfile: 'base' }, linux: { seccomp: { defaultAction: 'SCMP_ACT_ERRNO' as const } } };
  t.match(merge(base), { process: { apparmorProfile: 'base' }, linux: { seccomp: { defaultAction: 'SCMP_ACT_ERRNO' } } });
  const privileged = merge(base, true);
  t.notOk('apparmorProfile' in (privileged.process ?? {}) || 'seccomp' in (privileged.linux ?? {}));
  const filtered = withBaseSpec({ ociVersion: '1.0.2', ...base }, { ...own, linux: { ...own.linux, seccomp: { defaultAction: 'SCMP_ACT_LOG' } } }, { privileged: false });
  t.equal(filtered.linux?.seccomp?.defaultAction, 'SCMP_ACT_LOG');
  t.end();
});

test('mounts: file systems keep the base\'s options, further ones come where they do not hide others, CRI\'s replace', (t) => {
  const merged = merge({
    mounts: [
      { destination: '/proc/', type: 'proc', source: 'proc', options: ['hidepid=2'] },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['rw'] },
      { destination: '/run', type: 'tmpfs', source: 'tmpfs' },
      { destination: '/a', type: 'tmpfs', source: 'base' },
      { destination: '/data', type: 'tmpfs', source: 'base' },
      { destination: '/data/below', type: 'tmpfs', source: 'base' },
      { destination: '/z', type: 'tmpfs', source: 'base' },
    ],
  });
  t.same(merged.mounts?.map(({ destination, source }) => `${destination} ${source}`), ['/proc/ proc', '/sys sysfs', '/data /own', '/a base', '/a/b/c /own', '/z base']);
  t.same(merged.mounts?.[0]?.options, ['hidepid=2']);
  t.same(merged.mounts?.[1]?.options, ['ro']);
  t.end();
});

test('resources and hooks are joined; device rules of the base stand behind the one that forbids everything', (t) => {
  const merged = withBaseSpec(
    {
      ociVersion: '1.0.2',
      hooks: { poststop: [{ path: '/base' }], prestart: [{ path: '/first' }] },
      linux: {
        sysctl: { a: 'base' },
        resources: {
          memory: { limit: 9, swappiness: 3 },
          pids: { limit: 7 },
          unified: { x: '1' },
          devices: [{ allow: false, access: 'rwm' }, { allow: true, type: 'c', major: 1, minor: 3, access: 'r' }],
        },
      },
    },
    { ...own, hooks: { poststop: [{ path: '/own' }] } },
    { privileged: false },
  );
  t.same(merged.hooks, { poststop: [{ path: '/base' }, { path: '/own' }], prestart: [{ path: '/first' }] });
  t.same(merged.linux?.sysctl, { a: 'base' });
  t.same(merged.linux?.resources, {
    memory: { limit: 1, swappiness: 3 },
    pids: { limit: 7 },
    unified: { x: '1' },
    devices: [{ allow: false, access: 'rwm' }, { allow: true, type: 'c', major: 1, minor: 3, access: 'r' }],
  });
  t.end();
});

test('the base\'s capabilities are what CRI adds to and drops from', (t) => {
  const baseSpec: RuntimeSpec = { ociVersion: '1.0.2', process: { user: { uid: 0, gid: 0 }, cwd: '/', capabilities: { bounding: ['CAP_CHOWN', 'CAP_KILL'] } } };
  t.same(baseCapabilities(baseSpec), ['CAP_CHOWN', 'CAP_KILL']);
  t.equal(baseCapabilities(undefined), undefined);
  const config = containerConfig({ linux: { securityContext: { capabilities: { addCapabilities: ['NET_RAW'], dropCapabilities: ['CHOWN'] } } } });
  const { process } = buildContainerSpec({ ...containerInput({ config }), handler: { baseSpec } });
  t.same(process?.capabilities?.bounding, ['CAP_KILL', 'CAP_NET_RAW']);
  t.end();
});
