import t from 'tap';
import {
  checkpointOptions,
  decodeProcess,
  decodeResources,
  decodeRuncOptions,
  decodeSpec,
  encodeProcess,
  encodeResources,
  encodeSpec,
  runcOptions,
  runtimeOptions,
  type RuntimeSpec,
} from '../../src/index.js';
import { Options } from '../../src/gen/types/runtimeoptions/v1/api.js';
import { CheckpointOptions } from '../../src/gen/types/runc/options/oci.js';

t.test('type URLs are those containerd registers, the value is JSON', async (t) => {
  const spec: RuntimeSpec = {
    ociVersion: '1.2.0',
    process: { user: { uid: 1, gid: 2 }, cwd: '/', rlimits: [{ type: 'RLIMIT_CORE', hard: 2n ** 64n - 1n, soft: 0 }] },
  };
  const any = encodeSpec(spec);
  t.equal(any.typeUrl, 'types.containerd.io/opencontainers/runtime-spec/1/Spec');
  t.match(Buffer.from(any.value).toString(), '"hard":18446744073709551615,"soft":0');
  t.same(decodeSpec(any), spec);

  const process = { user: { uid: 0, gid: 0 }, args: ['sh'], cwd: '/' };
  t.equal(encodeProcess(process).typeUrl, 'types.containerd.io/opencontainers/runtime-spec/1/Process');
  t.same(decodeProcess(encodeProcess(process)), process);

  const resources = { memory: { limit: 2 ** 40 }, cpu: { shares: 2 } };
  t.equal(encodeResources(resources).typeUrl, 'types.containerd.io/opencontainers/runtime-spec/1/LinuxResources');
  t.same(decodeResources(encodeResources(resources)), resources);
});

t.test('another type is refused', async (t) => {
  t.throws(() => decodeSpec(encodeResources({})), new TypeError('expected types.containerd.io/opencontainers/runtime-spec/1/Spec, got types.containerd.io/opencontainers/runtime-spec/1/LinuxResources'));
  t.throws(() => decodeSpec({ typeUrl: '', value: Buffer.alloc(0) }), /got nothing/);
  t.throws(() => decodeRuncOptions(encodeResources({})), TypeError);
});

t.test('runc options', async (t) => {
  const any = runcOptions({ binaryName: '/usr/bin/crun', systemdCgroup: true, root: '/run/x' });
  t.equal(any.typeUrl, 'containerd.runc.v1.Options');
  t.match(decodeRuncOptions(any), { binaryName: '/usr/bin/crun', systemdCgroup: true, root: '/run/x', noPivotRoot: false, ioUid: 0 });
  t.throws(() => decodeRuncOptions({ typeUrl: '', value: Buffer.alloc(0) }), /got nothing/);

  const checkpoint = checkpointOptions({ exit: true, emptyNamespaces: ['network'], imagePath: '/i' });
  t.equal(checkpoint.typeUrl, 'containerd.runc.v1.CheckpointOptions');
  t.match(CheckpointOptions.decode(checkpoint.value), { exit: true, emptyNamespaces: ['network'], imagePath: '/i', openTcp: false });
  t.same(CheckpointOptions.decode(checkpointOptions({}).value).emptyNamespaces, []);
});

t.test('options of other shims', async (t) => {
  const any = runtimeOptions({ typeUrl: 'io.x.Options', configPath: '/etc/x.toml' });
  t.equal(any.typeUrl, 'runtimeoptions.v1.Options');
  t.match(Options.decode(any.value), { typeUrl: 'io.x.Options', configPath: '/etc/x.toml' });
});

t.test('a document that is no JSON: nothing of it is in the message, since a spec holds secrets', (t) => {
  const any = encodeSpec({ ociVersion: '1.2.0', process: { args: ['x'], cwd: '/', env: ['PASSWORD=hunter2'], user: { uid: 0, gid: 0 } } } as never);
  const cut = { ...any, value: any.value.subarray(0, any.value.length - 3) };
  t.throws(() => decodeSpec(cut), { name: 'SyntaxError', message: 'Spec is no JSON' });
  t.throws(() => decodeSpec({ ...any, value: Buffer.from('hunter2') }), { message: 'Spec is no JSON' });
  t.end();
});
