import t from 'tap';
import { parseCdiDocument } from '../../src/cdi/cdi-document.js';
import { isQualifiedName } from '../../src/cdi/qualified-name.js';

const device = (edits: object, name = 'one') => ({ name, containerEdits: edits });
const file = (change: object) => JSON.stringify({ cdiVersion: '1.1.0', kind: 'vendor.com/gpu', devices: [device({ env: ['A=1'] })], ...change });

void t.test('YAML as Go programs read it: octal modes, keys in any case, names that look like numbers', (t) => {
  const document = parseCdiDocument(`
cdiVersion: 0.8.0
kind: vendor.com/gpu
annotations: {Any.Key: x}
devices:
- name: 0:1
  containerEdits:
    deviceNodes:
    - {path: /dev/gpu0, hostPath: /dev/real0, type: c, major: 195, minor: 0, fileMode: 0660, permissions: rw, uid: 5, gid: 6}
    - {path: /dev/gpu1, fileMode: 0o600}
    mounts:
    - {hostPath: /opt/driver, containerPath: /driver, options: [ro, rbind]}
    hooks:
    - {hookName: createContainer, path: /bin/hook, args: [hook, 1], env: [X=1], timeout: 3}
    additionalGIDs: [44]
    intelRdt: {closid: gold, L3CacheSchema: "L3:0=f", MEMBWSCHEMA: "MB:0=50"}
- name: 7
  containerEdits: {env: [B=2], mounts: null}
containerEdits:
  env: [ALL=yes]
`);
  const [first, second] = document.devices;
  t.equal(first?.name, '0:1');
  t.equal(second?.name, '7');
  t.match(first?.containerEdits, {
    deviceNodes: [
      { path: '/dev/gpu0', hostPath: '/dev/real0', type: 'c', major: 195, minor: 0, fileMode: 0o660, permissions: 'rw', uid: 5, gid: 6 },
      { path: '/dev/gpu1', fileMode: 0o600 },
    ],
    mounts: [{ hostPath: '/opt/driver', containerPath: '/driver', options: ['ro', 'rbind'] }],
    hooks: [{ hookName: 'createContainer', path: '/bin/hook', args: ['hook', '1'], env: ['X=1'], timeout: 3 }],
    additionalGids: [44],
    intelRdt: { closID: 'gold', l3CacheSchema: 'L3:0=f', memBwSchema: 'MB:0=50' },
  });
  t.same(document.annotations, { 'Any.Key': 'x' });
  t.same(document.containerEdits.env, ['ALL=yes']);
  t.end();
});

void t.test('JSON, and what 1.1.0 brought', (t) => {
  const edits = { netDevices: [{ hostInterfaceName: 'eth7', name: 'gpu0' }], intelRdt: { schemata: ['L3:0=1'], enableMonitoring: true } };
  t.match(parseCdiDocument(file({ devices: [device(edits)] })).devices[0]?.containerEdits, edits);
  t.end();
});

void t.test('a file that is not right is refused as a whole, and says where', (t) => {
  const cases: [what: string, text: string, says: RegExp][] = [
    ['no YAML', '{', /./],
    ['nothing', '', /./],
    ['an alias that holds itself', 'cdiVersion: 0.6.0\nkind: v.com/c\ndevices: &a [*a]\n', /^devices\.0: an alias goes round in a circle$/],
    ['an alias that holds itself further down', 'devices:\n- &d {name: x, containerEdits: {env: [{a: *d}]}}\n', /^devices\.0\.containerEdits\.env\.0\.a: an alias goes round in a circle$/],
    ['lists without end', '['.repeat(200_000), /^is nested too deeply$/],
    ['lists in lists', '['.repeat(20_000) + ']'.repeat(20_000), /^is nested too deeply$/],
    ['lists in lists, in block style', '- '.repeat(20_000), /^is nested too deeply$/],
    ['tables in tables', '{"a":'.repeat(5000) + '1' + '}'.repeat(5000), /^is nested too deeply$/],
    ['an environment variable with NUL', file({ devices: [device({ env: ['A=1\0'] })] }), /env\.0: holds a NUL byte/],
    ['a path with NUL', file({ devices: [device({ deviceNodes: [{ path: '/dev/\0' }] })] }), /path: holds a NUL byte/],
    ['an argument with NUL', file({ devices: [device({ hooks: [{ hookName: 'prestart', path: '/x', args: ['\0'] }] })] }), /args\.0: holds a NUL byte/],
    ['the group that is none', file({ devices: [device({ additionalGids: [4294967295] })] }), /additionalGids\.0/],
    ['the owner that is none', file({ devices: [device({ deviceNodes: [{ path: '/dev/x', uid: 4294967295 }] })] }), /uid/],
    ['an unknown version', file({ cdiVersion: '9.9.9' }), /cdiVersion/],
    ['a kind without a class', file({ kind: 'vendor.com' }), /^kind/],
    ['a kind with a path', file({ kind: 'vendor.com/a/b' }), /^kind/],
    ['an unknown key', file({ extra: 1 }), /extra/],
    ['an unknown key of an edit', file({ devices: [device({ env: ['A=1'], hookz: [] })] }), /devices\.0\.containerEdits.*hookz/],
    ['no devices', file({ devices: [] }), /^devices/],
    ['a device twice', file({ devices: [device({ env: ['A=1'] }), device({ env: ['A=2'] })] }), /devices.*twice/],
    ['a device that edits nothing', file({ devices: [device({})] }), /edits nothing/],
    ['a name that is none', file({ devices: [device({ env: ['A=1'] }, '-x')] }), /devices\.0\.name/],
    ['an environment variable that is none', file({ devices: [device({ env: ['A'] })] }), /env\.0.*NAME=value/],
    ['permissions that are none', file({ devices: [device({ deviceNodes: [{ path: '/dev/x', permissions: 'rx' }] })] }), /permissions/],
    ['a type that is none', file({ devices: [device({ deviceNodes: [{ path: '/dev/x', type: 'd' }] })] }), /type/],
    ['a device without a path', file({ devices: [device({ deviceNodes: [{ type: 'c' }] })] }), /deviceNodes\.0\.path/],
    ['an id out of range', file({ devices: [device({ deviceNodes: [{ path: '/dev/x', uid: -1 }] })] }), /uid/],
    ['a mount without a place', file({ devices: [device({ mounts: [{ hostPath: '/a' }] })] }), /containerPath/],
    ['a hook of no known kind', file({ devices: [device({ hooks: [{ hookName: 'later', path: '/x' }] })] }), /hookName/],
    ['a hook with a relative path', file({ devices: [device({ hooks: [{ hookName: 'prestart', path: 'x' }] })] }), /path/],
    ['a hook without time', file({ devices: [device({ hooks: [{ hookName: 'prestart', path: '/x', timeout: 0 }] })] }), /timeout/],
    ['a class that is a path', file({ devices: [device({ intelRdt: { closID: 'a/b' } })] }), /closID/],
    ['an interface twice', file({ devices: [device({ netDevices: [{ hostInterfaceName: 'a', name: 'b' }, { hostInterfaceName: 'a', name: 'c' }] })] }), /twice/],
  ];
  for (const [what, text, says] of cases) t.throws(() => parseCdiDocument(text), { message: says }, what);
  t.end();
});

void t.test('an alias that is used twice is no circle; the highest group id', (t) => {
  const document = parseCdiDocument('cdiVersion: 0.7.0\nkind: v.com/c\ndevices:\n- {name: a, containerEdits: &e {additionalGids: [4294967294]}}\n- {name: b, containerEdits: *e}\n');
  t.same(document.devices.map(({ containerEdits }) => containerEdits.additionalGids), [[4294967294], [4294967294]]);
  t.end();
});

void t.test('a file may use only what its version has', (t) => {
  const needs: [version: string, change: object][] = [
    ['1.1.0', { devices: [device({ netDevices: [{ hostInterfaceName: 'a', name: 'b' }] })] }],
    ['1.1.0', { devices: [device({ intelRdt: { enableMonitoring: true } })] }],
    ['0.7.0', { devices: [device({ intelRdt: { closID: 'x' } })] }],
    ['0.7.0', { containerEdits: { additionalGids: [1] } }],
    ['0.6.0', { annotations: { a: 'b' } }],
    ['0.6.0', { kind: 'vendor.com/a.b' }],
    ['0.5.0', { devices: [device({ env: ['A=1'] }, '0')] }],
    ['0.5.0', { devices: [device({ deviceNodes: [{ path: '/dev/x', hostPath: '/dev/y' }] })] }],
    ['0.4.0', { devices: [device({ mounts: [{ hostPath: '/a', containerPath: '/b', type: 'tmpfs' }] })] }],
    ['0.3.0', {}],
  ];
  const versions = ['0.1.0', '0.2.0', '0.3.0', '0.4.0', '0.5.0', '0.6.0', '0.7.0', '0.8.0', '1.0.0', '1.1.0'];
  for (const [version, change] of needs) {
    t.doesNotThrow(() => parseCdiDocument(file({ cdiVersion: version, ...change })), version);
    t.doesNotThrow(() => parseCdiDocument(file({ cdiVersion: `v${version}`, ...change })), `v${version}`);
    const before = versions[versions.indexOf(version) - 1];
    t.throws(() => parseCdiDocument(file({ cdiVersion: before, ...change })), { message: new RegExp(`cdiVersion.*${version}`) }, `not in ${before}`);
  }
  t.end();
});

void t.test('qualified names', (t) => {
  for (const name of ['vendor.com/gpu=0', 'vendor.com/gpu=0:1', 'v/c=n', 'a-b.c_d/e.f=g_h']) t.ok(isQualifiedName(name), name);
  for (const name of ['', 'gpu0', '/dev/gpu', 'vendor.com/gpu', 'vendor.com/gpu=', '=x', '1v/c=n', 'v/1c=n', 'v/c/d=n', 'v/c=-n', 'v/c=n.', 'v-/c=n', 'v /c=n']) {
    t.notOk(isQualifiedName(name), name);
  }
  t.end();
});

void t.test('a document that is no YAML: what is wrong and where, and not the line itself', (t) => {
  t.throws(() => parseCdiDocument('cdiVersion: "0.6.0"\nkind: a.test/b\npassword: hunter2: x\n'), { message: /^Nested mappings .* at line 3, column \d+$/ });
  t.end();
});
