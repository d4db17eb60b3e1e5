import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { isAlreadyExists, isFailedPrecondition, isNotFound, runcOptions, runtimeInfo, runtimeOptions } from '../../src/index.js';
import { fakeImage } from '../../src/testing/index.js';
import { collect, container, fixture } from '../support/fixture.js';

const target = (digest: string) => ({ mediaType: 'm', digest, size: 1n, annotations: {} });

t.test('version, introspection', async (t) => {
  const { fake, client } = await fixture(t, { version: '2.4.2' });
  t.same(await client.version.get(), { version: '2.4.2', revision: 'fake' });
  t.match(await client.introspection.server(), { pid: process.pid, deprecations: [] });
  t.match(await client.introspection.plugins(['type==io.containerd.snapshotter.v1,id==overlayfs']), [
    { id: 'overlayfs', exports: { root: /overlayfs$/ }, platforms: [{ os: 'linux' }] },
  ]);
  fake.plugins.push({ type: 'x', id: 'broken', error: 'no disk' });
  t.same((await client.introspection.plugins(['id==broken']))[0]?.initError, { code: 2, message: 'no disk' });
  t.match(await client.introspection.pluginInfo('x', 'broken'), { plugin: { type: 'x', id: 'broken' } });
  await client.introspection.pluginInfo('x', 'broken', { typeUrl: 'q', value: Buffer.alloc(0) });
  t.match(fake.control.requests('introspection.pluginInfo')[1], { options: { typeUrl: 'q' } });
  await t.rejects(client.introspection.pluginInfo('x', 'none'), { code: status.NOT_FOUND });
});

t.test('runtime info: what a shim and its OCI runtime tell', async (t) => {
  const { fake, client } = await fixture(t);
  fake.ociRuntimes.set('mute', undefined);
  fake.ociRuntimes.set('/opt/crun', { mountOptions: ['rro'] });
  const of = (binaryName: string) => runtimeInfo(client.introspection, 'io.containerd.runc.v2', runcOptions({ binaryName }));
  t.match(await of(''), { name: 'io.containerd.runc.v2', version: 'fake', features: { linux: { namespaces: ['cgroup'] } } });
  t.same((await of('/opt/crun')).features, { mountOptions: ['rro'] });
  t.notOk('features' in (await of('mute')), 'no features command');
  await t.rejects(of('absent'), { code: status.UNKNOWN, details: /absent/ });
  t.notOk('features' in (await runtimeInfo(client.introspection, '/opt/shim', runtimeOptions({}))), "a shim that is not runc's");
});

t.test('namespaces', async (t) => {
  const { client } = await fixture(t);
  t.same(await client.namespaces.create('n', { a: '1' }), { name: 'n', labels: { a: '1' } });
  t.same(await client.namespaces.create('m'), { name: 'm', labels: {} });
  t.ok(isAlreadyExists(await client.namespaces.create('n').catch((e: unknown) => e)));
  t.same(await client.namespaces.update('n', { b: '2' }, ['labels.b']), { name: 'n', labels: { a: '1', b: '2' } });
  t.same(await client.namespaces.update('n', { c: '3' }), { name: 'n', labels: { c: '3' } });
  t.same(await client.namespaces.get('n'), { name: 'n', labels: { c: '3' } });
  await client.containers.create(container('x'), { namespace: 'n' });
  t.ok(isFailedPrecondition(await client.namespaces.delete('n').catch((e: unknown) => e)));
  await client.namespaces.delete('m');
  t.same(await client.namespaces.get('m'), { name: 'm', labels: {} }, 'gone, as containerd tells it');
  t.ok(isNotFound(await client.namespaces.delete('m').catch((e: unknown) => e)));
});

t.test('leases', async (t) => {
  const { client } = await fixture(t);
  t.match(await client.leases.create({ id: 'l', labels: { purpose: 'pull' } }), { id: 'l', labels: { purpose: 'pull' } });
  t.ok(isAlreadyExists(await client.leases.create({ id: 'l' }).catch((e: unknown) => e)));
  t.ok((await client.leases.create({})).id !== '', 'containerd chooses an id');
  t.match(await client.leases.list(['labels.purpose==pull']), [{ id: 'l' }]);
  t.match(await client.leases.list(['id==l']), [{ id: 'l' }]);
  t.equal((await client.leases.list()).length, 2);
  const resource = { id: 'k', type: 'snapshots/overlayfs' };
  await client.leases.addResource('l', resource);
  await client.leases.addResource('l', resource);
  t.same(await client.leases.resources('l'), [resource]);
  await client.leases.removeResource('l', resource);
  t.same(await client.leases.resources('l'), []);
  await client.leases.delete('l', { sync: true });
  t.ok(isNotFound(await client.leases.delete('l').catch((e: unknown) => e)));
  t.ok(isNotFound(await client.snapshots.prepare('overlayfs', 'k', '', { lease: 'l' }).catch((e: unknown) => e)), 'under a lease that is gone');
});

t.test('images', async (t) => {
  const { fake, client } = await fixture(t);
  const made = await client.images.create({ name: 'a:1', labels: { x: '1' }, target: target('sha256:1') });
  t.same(await client.images.get('a:1'), made);
  t.match(made, { name: 'a:1', labels: { x: '1' }, target: target('sha256:1') });
  t.ok(isAlreadyExists(await client.images.create({ name: 'a:1', target: target('sha256:1') }).catch((e: unknown) => e)));
  await t.rejects(client.images.create({ name: '', target: target('sha256:1') }), { code: status.INVALID_ARGUMENT });
  await client.images.create({ name: 'b:1', target: target('sha256:1') });
  await client.images.create({ name: 'c:1', target: { ...target('sha256:2'), annotations: { k: 'v' } } });
  const names = async (filter: string) => (await client.images.list([filter])).map(({ name }) => name);
  t.same(await names('target.digest==sha256:1'), ['a:1', 'b:1']);
  t.same(await names('target.mediatype==m,labels.x==1'), ['a:1']);
  t.same(await names('annotations.k==v'), ['c:1']);
  t.same(await names('name==b:1'), ['b:1']);
  t.same(await names('other'), []);
  t.equal((await client.images.list()).length, 3);

  let updated = await client.images.update({ name: 'a:1', labels: { y: '2' }, target: target('sha256:9') }, ['labels.y']);
  t.match(updated, { labels: { x: '1', y: '2' }, target: { digest: 'sha256:1' } });
  updated = await client.images.update({ name: 'a:1', target: { ...target('sha256:3'), annotations: { n: '1' } } }, ['annotations']);
  t.match(updated, { target: { digest: 'sha256:1', annotations: { n: '1' } } });
  updated = await client.images.update({ name: 'a:1', target: target('sha256:3') });
  t.same([updated.labels, updated.target.digest], [{}, 'sha256:3'], 'no field means labels and target');
  t.equal(updated.createdAt, made.createdAt);
  await t.rejects(client.images.update({ name: 'a:1', target: target('x') }, ['name']), { code: status.INVALID_ARGUMENT });

  t.ok(isNotFound(await client.images.delete('a:1', { target: target('sha256:1') }).catch((e: unknown) => e)), 'another target');
  await client.images.delete('a:1', { target: target('sha256:3'), sync: true });
  t.match(fake.control.requests('images.delete').at(-1), { name: 'a:1', sync: true });
  t.ok(isNotFound(await client.images.get('a:1').catch((e: unknown) => e)));
});

t.test('snapshots', async (t) => {
  const { client } = await fixture(t);
  const sn = 'overlayfs';
  const mounts = await client.snapshots.prepare(sn, 'base-work', '', { labels: { l: '1' } });
  t.match(mounts, [{ type: 'bind', target: '', options: ['rbind', 'rw'] }]);
  t.same(await client.snapshots.mounts(sn, 'base-work'), mounts);
  t.match(await client.snapshots.stat(sn, 'base-work'), { name: 'base-work', parent: '', kind: 'active', labels: { l: '1' } });
  t.ok(isAlreadyExists(await client.snapshots.prepare(sn, 'base-work', '').catch((e: unknown) => e)));
  await client.snapshots.commit(sn, 'base', 'base-work', { labels: { c: '1' } });
  t.match(await client.snapshots.stat(sn, 'base'), { kind: 'committed', labels: { c: '1' } });
  t.match(await client.snapshots.view(sn, 'ro', 'base'), [{ options: ['rbind', 'ro'] }]);
  await client.snapshots.prepare(sn, 'rw', 'base');
  t.same((await client.snapshots.update(sn, 'rw', { a: '1' })).labels, { a: '1' });
  t.same((await client.snapshots.update(sn, 'rw', { b: '2' }, ['labels.b'])).labels, { a: '1', b: '2' });
  const names = async (...filters: string[]) => (await collect(client.snapshots.list(sn, filters))).map(({ name }) => name);
  t.same(await names('kind==view'), ['ro']);
  t.same(await names('parent==base,labels.b==2'), ['rw']);
  t.same(await names('name==base'), ['base']);
  t.equal((await names()).length, 3);
  t.match(await client.snapshots.usage(sn, 'rw'), { size: 0n, inodes: 1n });
  t.ok(isFailedPrecondition(await client.snapshots.remove(sn, 'base').catch((e: unknown) => e)), 'has children');
  await client.snapshots.remove(sn, 'rw');
  await client.snapshots.remove(sn, 'ro');
  await client.snapshots.remove(sn, 'base');
  await client.snapshots.cleanup(sn);
  t.ok(isNotFound(await client.snapshots.stat(sn, 'base').catch((e: unknown) => e)));
  t.ok(isNotFound(await client.snapshots.prepare(sn, 'x', 'none').catch((e: unknown) => e)));
  await t.rejects(client.snapshots.stat('zfs', 'x'), { code: status.INVALID_ARGUMENT, details: /snapshotter not loaded: zfs/ });
});

t.test('diff', async (t) => {
  const { fake, client } = await fixture(t);
  const image = fakeImage({ files: { 'etc/os-release': 'fake' } });
  fake.addImage('test', 'image', image);
  const [ofImage] = image.blobs;
  const [root] = await client.snapshots.prepare('native', 'k', '', { namespace: 'test' });
  if (ofImage === undefined || root === undefined) throw new Error('no layer, or no mount');
  const applied = await client.diff.apply(target(ofImage.digest), [root], { syncFs: true, namespace: 'test' });
  t.equal(applied.digest, image.chainId, 'of one layer the chain id is the diff id');
  t.equal(await readFile(join(root.source, 'etc/os-release'), 'utf8'), 'fake');
  t.match(fake.control.requests('diff.apply'), [{ diff: { digest: ofImage.digest }, mounts: [root], syncFs: true }]);

  const dir = t.testdir({ lower: { kept: 'a', gone: 'b' }, upper: { kept: 'a', more: 'c' }, other: { gone: 'b' } });
  const [lower, upper, other] = [join(dir, 'lower'), join(dir, 'upper'), join(dir, 'other')];
  const mount = (source: string) => ({ type: 'bind', source, target: '', options: [] });
  const layer = await client.diff.diff([mount(lower)], [mount(upper)], { mediaType: 'm', ref: 'r' });
  t.match(layer, { mediaType: 'm', digest: /^sha256:/ });
  t.match(await client.diff.apply(layer, [mount(other)]), { digest: layer.digest });
  t.same(await readdir(other), ['more'], 'what was added and deleted');
  await t.rejects(client.diff.apply(target('sha256:1'), [mount(other)]), { code: status.NOT_FOUND, call: 'diff.apply' });
  await t.rejects(client.diff.diff([], []), { code: status.INVALID_ARGUMENT, call: 'diff.diff' });
  t.match(fake.control.requests('diff.diff'), [{ left: [mount(lower)], mediaType: 'm', ref: 'r' }, { left: [], mediaType: '' }]);
});
