import { SecurityProfile_ProfileType as ProfileType } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import { join } from 'node:path';
import t from 'tap';
import { resolveAppArmor } from '../../src/spec/apparmor.js';
import { selinuxLabels } from '../../src/spec/selinux.js';
import { containerConfig, errorOf } from './fixtures.js';

type Context = NonNullable<NonNullable<Parameters<typeof containerConfig>[0]>['linux']>['securityContext'];

void t.test('AppArmor', async (t) => {
  const dir = t.testdir({
    with: 'cri-containerd.apparmor.d (enforce)\nmine (complain)\n',
    without: 'mine-too (enforce)\n',
  });
  const resolve = (context: Context, list = 'with', apparmorEnabled = true) =>
    resolveAppArmor(
      {
        securityContext: containerConfig({ linux: { securityContext: context } }).linux?.securityContext,
        node: { apparmorEnabled },
      },
      join(dir, list),
    );
  const { RuntimeDefault, Unconfined, Localhost } = ProfileType;

  void t.test('on a node that has it', async (t) => {
    t.equal(await resolve({}), 'cri-containerd.apparmor.d');
    t.equal(await resolve({}, 'without'), undefined, 'a default that is not loaded is not insisted on');
    t.equal(await resolve({ apparmor: { profileType: Unconfined } }), undefined);
    t.equal(await resolve({ apparmor: { profileType: RuntimeDefault } }), 'cri-containerd.apparmor.d');
    t.equal(await resolve({ apparmor: { profileType: RuntimeDefault }, privileged: true }), undefined);
    t.equal(await resolve({ apparmor: { profileType: Localhost, localhostRef: 'mine' }, privileged: true }), 'mine');
    t.equal(await resolve({ apparmorProfile: 'localhost/mine' }), 'mine');
    const codes = async (context: Context, list?: string) => (await errorOf(() => resolve(context, list))).code;
    t.equal(await codes({ apparmor: { profileType: RuntimeDefault } }, 'without'), status.FAILED_PRECONDITION);
    t.equal(await codes({ apparmor: { profileType: Localhost, localhostRef: 'min' } }), status.FAILED_PRECONDITION);
    t.equal(await codes({ apparmor: { profileType: Localhost, localhostRef: '' } }), status.INVALID_ARGUMENT);
    t.equal(await codes({ apparmor: { profileType: Unconfined, localhostRef: 'x' } }), status.INVALID_ARGUMENT);
    t.equal(await codes({ apparmor: { profileType: 9 as ProfileType } }), status.INVALID_ARGUMENT);
    t.equal(await codes({ apparmorProfile: 'mine' }), status.INVALID_ARGUMENT);
  });
  void t.test('on a node without it only unconfined works', async (t) => {
    t.equal(await resolve({}, 'missing', false), undefined);
    t.equal(await resolve({ apparmor: { profileType: Unconfined } }, 'missing', false), undefined);
    for (const context of [{ apparmor: { profileType: RuntimeDefault } }, { apparmorProfile: 'runtime/default' }]) {
      t.equal((await errorOf(() => resolve(context, 'missing', false))).code, status.FAILED_PRECONDITION);
    }
  });
});

void t.test('SELinux', async (t) => {
  const options = (change: object) => ({ user: '', role: '', type: '', level: '', ...change });
  const on = { selinuxEnabled: true };
  t.same(selinuxLabels('f', undefined, on), {});
  t.same(selinuxLabels('f', options({}), on), {});
  t.same(selinuxLabels('f', options({ level: 's0:c1,c2' }), on), {
    process: 'system_u:system_r:container_t:s0:c1,c2',
    mount: 'system_u:object_r:container_file_t:s0:c1,c2',
  });
  t.same(selinuxLabels('f', options({ user: 'u', role: 'r', type: 't' }), on).process, 'u:r:t:s0');
  t.same(selinuxLabels('f', options({ type: 't' }), { selinuxEnabled: false }), {});
  t.match(
    (await errorOf(() => selinuxLabels('f', options({ level: 'secret' }), { selinuxEnabled: false }))).message,
    /^f\.level/,
  );
});
