import 'reflect-metadata';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import type { Mount } from '@criquet/runtime-containerd';
import { test } from 'tap';
import { ImageUsers } from '../../src/container/image-users.js';
import { mount } from '../../src/runtime/mount.js';
import type { UserRequest } from '../../src/spec/index.js';
import { userRequest } from '../../src/spec/index.js';
import { ContainerConfig } from '@criquet/cri-api';
import { Layout } from '../../src/state/layout.js';

const named = (name: string): UserRequest =>
  userRequest(ContainerConfig.fromPartial({ linux: { securityContext: { runAsUsername: name } } }), {});

function passwd(uid: number): { etc: { passwd: string; group: string } } {
  return { etc: { passwd: `app:x:${uid}:${uid}::/:/bin/sh\n`, group: `app:x:${uid}:\n` } };
}

const bind = (source: string): Mount => ({ type: 'bind', source, target: '', options: ['rbind', 'rw'] });

const mountedBelow = async (dir: string) => (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').filter((line) => line.includes(` ${dir}`));

test('one look an image and request', async (t) => {
  const dir = t.testdir({ one: passwd(1000), two: passwd(2000) });
  const users = new ImageUsers(new Layout(join(dir, 'state'), dir, dir));
  t.equal(users.known('chain-1', named('app')), undefined);
  t.match(await users.resolve('chain-1', named('app'), [bind(join(dir, 'one'))]), { uid: 1000, gid: 1000 });
  t.match(users.known('chain-1', named('app')), { uid: 1000 });
  t.equal(users.known('chain-1', named('other')), undefined, 'another user is another question');
  t.equal(users.known('chain-2', named('app')), undefined, 'another image too');
  t.match(await users.resolve('chain-2', named('app'), [bind(join(dir, 'two'))]), { uid: 2000 });
});

test('an answer that failed is not kept', async (t) => {
  const dir = t.testdir({ one: passwd(1000) });
  const users = new ImageUsers(new Layout(join(dir, 'state'), dir, dir));
  await t.rejects(users.resolve('chain', named('nobody'), [bind(join(dir, 'one'))]), { code: status.INVALID_ARGUMENT });
  t.equal(users.known('chain', named('nobody')), undefined);
});

test('overlays: a single layer is read in place, several are mounted for the look only', async (t) => {
  const dir = t.testdir({ base: passwd(1), top: passwd(2), upper: passwd(3), work: {} });
  const users = new ImageUsers(new Layout(join(dir, 'state'), dir, dir));
  const overlay = (lower: string): Mount => ({
    type: 'overlay', source: 'overlay', target: '',
    options: ['index=off', `workdir=${join(dir, 'work')}`, `upperdir=${join(dir, 'upper')}`, `lowerdir=${lower}`],
  });
  t.match(await users.resolve('single', named('app'), [overlay(join(dir, 'base'))]), { uid: 1 }, 'nobody has written to the snapshot yet');
  t.match(await users.resolve('several', named('app'), [overlay(`${join(dir, 'top')}:${join(dir, 'base')}`)]), { uid: 2 }, 'the uppermost counts');
  t.same(await mountedBelow(dir), []);
  t.same(await readdir(join(dir, 'state', 'lookup')), []);
  await t.rejects(users.resolve('broken', named('app'), [overlay(`${join(dir, 'absent')}:${join(dir, 'base')}`)]), { code: 'ENOENT' });
  t.same(await mountedBelow(dir), []);
  t.same(await readdir(join(dir, 'state', 'lookup')), []);
  await t.rejects(users.resolve('none', named('app'), []), { code: status.FAILED_PRECONDITION, message: /nothing/ });
});

test('tidy takes away what a killed daemon left', async (t) => {
  const dir = t.testdir({});
  const users = new ImageUsers(new Layout(join(dir, 'state'), dir, dir));
  await users.tidy();
  const left = join(dir, 'state', 'lookup', 'rootfs-x');
  await mkdir(left, { recursive: true });
  for (let layer = 0; layer < 2; layer++) mount('tmpfs', left, 'tmpfs', 0, '');
  t.equal((await mountedBelow(dir)).length, 2);
  await users.tidy();
  t.same(await mountedBelow(dir), []);
  t.same(await readdir(join(dir, 'state', 'lookup')), []);
});
