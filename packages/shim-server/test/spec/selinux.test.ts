import t from 'tap';
import { selinuxLabels } from '../../src/spec/selinux.js';
import { errorOf } from './fixtures.js';

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
