import { status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { connectContainerd, encodeSpec, ContainerdError, type Containerd } from '../src/index.js';
import { collect, fixture } from './support/fixture.js';
import { RealContainerd, skipReal } from './support/real-containerd.js';

// What the fake must have in common with containerd, asked of both.

const sn = 'overlayfs';
const spec = encodeSpec({ ociVersion: '1.2.0' });
const record = { runtime: { name: 'io.containerd.runc.v2' }, spec };
const nowhere = { stdin: '', stdout: '', stderr: '', terminal: false };
const any = (text: string) => ({ typeUrl: 'x', value: Buffer.from(text) });
const target = { mediaType: 'm', digest: `sha256:${'1'.repeat(64)}`, size: 1n, annotations: {} };
const hello = { data: Buffer.from('hello'), digest: 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824' };

const { ALREADY_EXISTS, FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE, UNKNOWN } = status;

/** Each in turn on the same containerd: a code it fails with, or what it answers. */
const steps: [name: string, call: (c: Containerd) => Promise<unknown>, expected: unknown][] = [
  ['no task: get', (c) => c.tasks.get('none'), NOT_FOUND],
  ['no task: wait', (c) => c.tasks.wait('none'), NOT_FOUND],
  ['no task: kill', (c) => c.tasks.kill('none', { signal: 9 }), NOT_FOUND],
  ['no task: delete', (c) => c.tasks.delete('none'), NOT_FOUND],
  ['no container: task', (c) => c.tasks.create({ containerId: 'none', rootfs: [], ...nowhere }), NOT_FOUND],
  ['create', async (c) => (await c.containers.create({ id: 'a', ...record, labels: { empty: '', y: '1' } })).labels, { y: '1' }],
  ['create again', (c) => c.containers.create({ id: 'a', ...record }), ALREADY_EXISTS],
  ['id', (c) => c.containers.create({ id: 'a b', ...record }), INVALID_ARGUMENT],
  ['runtime', (c) => c.containers.create({ id: 'b', ...record, runtime: { name: '' } }), INVALID_ARGUMENT],
  ['long label', (c) => c.containers.create({ id: 'b', ...record, labels: { k: 'x'.repeat(4096) } }), INVALID_ARGUMENT],
  ['snapshot key alone', (c) => c.containers.create({ id: 'b', ...record, snapshotKey: 'b' }), INVALID_ARGUMENT],
  ['update labels', async (c) => (await c.containers.update({ id: 'a', labels: { y: '', z: '3' } }, ['labels.y', 'labels.z'])).labels, { z: '3' }],
  ['update runtime', (c) => c.containers.update({ id: 'a' }, ['runtime']), INVALID_ARGUMENT],
  ['update nobody', (c) => c.containers.update({ id: 'none' }, ['labels']), NOT_FOUND],
  ['extension', async (c) => (await c.containers.update({ id: 'a', extensions: { e: any('v') } }, ['extensions.e'])).extensions, { e: any('v') }],
  ['extension left out', async (c) => (await c.containers.update({ id: 'a', extensions: {} }, ['extensions.e'])).extensions, { e: { typeUrl: '', value: Buffer.alloc(0) } }],
  ['filter', async (c) => (await c.containers.list(['labels."z"==3'])).map(({ id }) => id), ['a']],
  ['filter on what is absent', async (c) => (await c.containers.list(['labels."q"!=3'])).length, 1],
  ['filter by pattern', async (c) => (await collect(c.containers.stream(['id~=^a$,labels.z']))).length, 1],
  ['broken filter', (c) => c.containers.list(['labels."z"==']), INVALID_ARGUMENT],
  ['broken filter of a stream', (c) => collect(c.containers.stream(['=='])), INVALID_ARGUMENT],
  ['delete', (c) => c.containers.delete('a'), undefined],
  ['delete again', (c) => c.containers.delete('a'), NOT_FOUND],
  ['sandbox', (c) => c.sandboxes.create({ id: 's', runtime: { name: 'io.containerd.runc.v2' }, labels: { a: '1' } }), undefined],
  ['sandbox again', (c) => c.sandboxes.create({ id: 's', runtime: { name: 'io.containerd.runc.v2' } }), ALREADY_EXISTS],
  ['sandbox id', (c) => c.sandboxes.create({ id: 'a b', runtime: { name: 'io.containerd.runc.v2' } }), INVALID_ARGUMENT],
  ['sandboxes by label', async (c) => (await c.sandboxes.list(['labels."a"==1'])).map(({ id, labels, runtime }) => [id, labels, runtime.name]), [['s', { a: '1' }, 'io.containerd.runc.v2']]],
  ['sandboxes by another label', (c) => c.sandboxes.list(['labels."b"==1']), []],
  ['sandbox delete', (c) => c.sandboxes.delete('s'), undefined],
  ['sandbox delete again', (c) => c.sandboxes.delete('s'), NOT_FOUND],
  ['no namespace', (c) => c.containers.list([], { namespace: '' }), FAILED_PRECONDITION],
  ['no such lease', (c) => c.snapshots.prepare(sn, 'k', '', { lease: 'none' }), NOT_FOUND],
  ['no such snapshotter', (c) => c.snapshots.prepare('none', 'k', ''), INVALID_ARGUMENT],
  ['no such parent', (c) => c.snapshots.prepare(sn, 'k', 'none'), NOT_FOUND],
  ['no such snapshot', (c) => c.snapshots.stat(sn, 'none'), NOT_FOUND],
  ['lease', async (c) => (await c.leases.create({ id: 'l' })).id, 'l'],
  ['lease again', (c) => c.leases.create({ id: 'l' }), ALREADY_EXISTS],
  ['prepare', async (c) => (await c.snapshots.prepare(sn, 'k', '', { lease: 'l' })).length, 1],
  ['prepare again', (c) => c.snapshots.prepare(sn, 'k', ''), ALREADY_EXISTS],
  ['child of an active one', (c) => c.snapshots.prepare(sn, 'k2', 'k'), INVALID_ARGUMENT],
  ['commit', (c) => c.snapshots.commit(sn, 'base', 'k', { lease: 'l' }), undefined],
  ['child', async (c) => (await c.snapshots.prepare(sn, 'child', 'base', { lease: 'l' })).length, 1],
  ['remove a parent', (c) => c.snapshots.remove(sn, 'base'), FAILED_PRECONDITION],
  ['kinds', async (c) => (await collect(c.snapshots.list(sn, ['kind==committed']))).map(({ name }) => name), ['base']],
  ['held by the lease', async (c) => (await c.leases.resources('l')).map(({ type }) => type), [`snapshots/${sn}`, `snapshots/${sn}`]],
  ['write', async (c) => (await c.content.write({ ref: 'r', ...hello, expected: hello.digest }, { lease: 'l' })).digest, hello.digest],
  ['write again', async (c) => (await c.content.write({ ref: 'r', ...hello, expected: hello.digest }, { lease: 'l' })).size, 5n],
  ['write again, found at the end', async (c) => (await c.content.write({ ref: 'r2', data: hello.data }, { lease: 'l' })).digest, hello.digest],
  ['wrong digest', (c) => c.content.write({ ref: 'r3', data: Buffer.from('x'), expected: target.digest }), FAILED_PRECONDITION],
  ['wrong size', (c) => c.content.write({ ref: 'r3', data: Buffer.from('x'), total: 9 }), FAILED_PRECONDITION],
  ['no ingest stays', (c) => c.content.statuses(), []],
  ['read', async (c) => Buffer.concat(await collect(c.content.read(hello.digest, { offset: 1, size: 3 }))).toString(), 'ell'],
  ['read beyond', (c) => collect(c.content.read(hello.digest, { offset: 6 })), OUT_OF_RANGE],
  ['no such blob', (c) => c.content.info(target.digest), NOT_FOUND],
  ['no such ingest', (c) => c.content.status('none'), NOT_FOUND],
  ['no such image', (c) => c.images.get('none'), NOT_FOUND],
  ['image', async (c) => (await c.images.create({ name: 'i', target, labels: { a: '1' } })).target.digest, target.digest],
  ['image again', (c) => c.images.create({ name: 'i', target }), ALREADY_EXISTS],
  ['image by digest', async (c) => (await c.images.list([`target.digest==${target.digest}`])).map(({ name }) => name), ['i']],
  ['image update', async (c) => (await c.images.update({ name: 'i', target, labels: { b: '2' } }, ['labels.b'])).labels, { a: '1', b: '2' }],
  ['image delete', (c) => c.images.delete('i', { sync: true }), undefined],
  ['image delete again', (c) => c.images.delete('i'), NOT_FOUND],
  ['views that a container names, and one that nobody does', (c) => viewsOf(c), undefined],
  ['lease delete', (c) => c.leases.delete('l', { sync: true }), undefined],
  ['what a container names by label stays', async (c) => (await collect(c.snapshots.list(sn))).map(({ name }) => name).sort(), ['named-0', 'named-1']],
  ['the container goes', (c) => c.containers.delete('names'), undefined],
  ['and a collection comes', async (c) => collectNow(c), undefined],
  ['what it named is gone', async (c) => (await collect(c.snapshots.list(sn))).length, 0],
  ['what it held is gone: blob', (c) => c.content.info(hello.digest), NOT_FOUND],
  ['what it held is gone: snapshot', (c) => c.snapshots.stat(sn, 'base'), NOT_FOUND],
  ['lease delete again', (c) => c.leases.delete('l'), NOT_FOUND],
  ['a stream', async (c) => (await c.streaming.open('s')).close(), undefined],
  ['a stream of the same name', (c) => c.streaming.open('s'), UNKNOWN],
  ['no such namespace', (c) => c.namespaces.get('none'), { name: 'none', labels: {} }],
  ['namespace', async (c) => (await c.namespaces.create('n', { a: '1' })).labels, { a: '1' }],
  ['namespace again', (c) => c.namespaces.create('n'), ALREADY_EXISTS],
  ['namespace delete', (c) => c.namespaces.delete('n'), undefined],
];

/** The label of a container may have a name behind the snapshotter's, so that it can name several snapshots. */
async function viewsOf(c: Containerd): Promise<void> {
  const label = (index: number) => `containerd.io/gc.ref.snapshot.${sn}/image-${index}`;
  await c.containers.create({ id: 'names', ...record, labels: { [label(0)]: 'named-0', [label(1)]: 'named-1' } });
  for (const key of ['named-0', 'named-1', 'unnamed']) await c.snapshots.view(sn, key, '');
}

async function collectNow(c: Containerd): Promise<void> {
  await c.leases.create({ id: 'collect' });
  await c.leases.delete('collect', { sync: true });
}

async function runSteps(t: Test, client: Containerd): Promise<void> {
  for (const [name, call, expected] of steps) {
    let result: unknown;
    try {
      result = await call(client);
    } catch (error) {
      result = error instanceof ContainerdError ? error.code : error;
    }
    t.same(result, expected, name);
  }
}

t.test('the fake', async (t) => {
  const { client } = await fixture(t);
  await runSteps(t, client);
});

t.test('a real containerd', { skip: skipReal }, async (t) => {
  const real = await RealContainerd.start();
  const client = connectContainerd({ address: real.address, namespace: 'test', defaultTimeoutMs: 10_000 });
  t.teardown(async () => {
    client.close();
    await real.close();
  });
  await runSteps(t, client);
});
