import { decodeRuncOptions, runcOptions, runtimeOptions } from '@criquet/runtime-containerd';
import { test } from 'tap';
import { ownedIo } from '../../src/runtime/io-owner.js';

test('pipes of a runc task get an owner, and nothing else changes', (t) => {
  const options = runcOptions({ binaryName: '/opt/runc', systemdCgroup: true, root: '/run/x' });
  const owned = ownedIo({ options, runtimePath: '/opt/shim' }, { uid: 7, gid: 8 });
  t.equal(owned.runtimePath, '/opt/shim');
  t.same(decodeRuncOptions(owned.options ?? options), { ...decodeRuncOptions(options), ioUid: 7, ioGid: 8 });
  t.end();
});

test('another runtime is asked for nothing', (t) => {
  const task = { options: runtimeOptions({ configPath: '/etc/vm.toml' }) };
  t.equal(ownedIo(task, { uid: 7, gid: 8 }), task);
  t.same(ownedIo({}, { uid: 7, gid: 8 }), {});
  t.end();
});
