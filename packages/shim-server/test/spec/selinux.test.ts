import { join } from 'node:path';
import t from 'tap';
import { needsLevel, selinuxLabels, type SelinuxRequest } from '../../src/spec/selinux.js';
import { readSelinuxContexts } from '../../src/spec/selinux-contexts.js';
import { errorOf } from './fixtures.js';

void t.test('SELinux', async (t) => {
  const contexts = { process: 'system_u:system_r:container_t:s0', file: 'system_u:object_r:container_file_t:s0', readOnlyFile: 'x' };
  const labels = (change: object | undefined, request: Partial<SelinuxRequest> = {}) =>
    selinuxLabels('f', {
      options: change && { user: '', role: '', type: '', level: '', ...change },
      level: undefined,
      privileged: false,
      node: { selinuxEnabled: true, selinuxContexts: contexts },
      ...request,
    });
  const withoutPolicy = { node: { selinuxEnabled: true } };
  const off = { node: { selinuxEnabled: false } };

  t.same(labels(undefined, { level: 's0:c3,c4' }), {
    process: 'system_u:system_r:container_t:s0:c3,c4',
    mount: 'system_u:object_r:container_file_t:s0:c3,c4',
  });
  t.same(labels({ level: 's0:c1,c2' }, { level: 's0:c3,c4' }), {
    process: 'system_u:system_r:container_t:s0:c1,c2',
    mount: 'system_u:object_r:container_file_t:s0:c1,c2',
  });
  t.same(labels({ user: 'u', role: 'r', type: 't' }, { level: 's0:c3,c4' }), {
    process: 'u:r:t:s0:c3,c4',
    mount: 'u:object_r:container_file_t:s0:c3,c4',
  });
  t.same(labels({ type: 't' }, { privileged: true }), { mount: 'system_u:object_r:container_file_t:s0' }, 'no label of a privileged process');
  t.same(labels(undefined, withoutPolicy), {}, 'a policy that knows no containers');
  t.equal(labels({ level: 's0:c1,c2' }, withoutPolicy).process, 'system_u:system_r:container_t:s0:c1,c2');
  t.same(labels({ type: 't' }, off), {});
  t.match((await errorOf(() => labels({ level: 'secret' }, off))).message, /^f\.level/);
  t.match((await errorOf(() => labels({ type: 'a:b' }))).message, /^f\.type/, 'a part that would be two');

  const needs = (change: object, node: SelinuxRequest['node']) => needsLevel({ user: '', role: '', type: '', level: '', ...change }, node);
  const on = { selinuxEnabled: true, selinuxContexts: contexts };
  t.equal(needs({}, on), true);
  t.equal(needs({ type: 't' }, on), true);
  t.equal(needs({ level: 's0' }, on), false);
  t.equal(needs({}, withoutPolicy.node), false);
  t.equal(needs({ type: 't' }, withoutPolicy.node), true);
  t.equal(needs({}, off.node), false);
  t.equal(needs({}, { selinuxEnabled: true, selinuxContexts: { ...contexts, process: 'u:r:t' } }), false, 'a policy without levels');
});

void t.test('what a policy has for containers', async (t) => {
  const dir = t.testdir({
    contexts: 'process = "system_u:system_r:container_t:s0"\n# comment\nfile = "system_u:object_r:container_file_t:s0"\nro_file="system_u:object_r:container_ro_file_t:s0"\n',
    policies: {
      config: 'SELINUX=enforcing\nSELINUXTYPE=targeted\n',
      targeted: { contexts: { lxc_contexts: 'process = "u:r:old_t:s0"\nfile = "u:object_r:old_file_t:s0"\n' } },
    },
    bare: { config: 'SELINUXTYPE=minimum\n' },
  });
  t.same(await readSelinuxContexts({ contexts: join(dir, 'contexts'), policies: join(dir, 'policies') }), {
    process: 'system_u:system_r:container_t:s0',
    file: 'system_u:object_r:container_file_t:s0',
    readOnlyFile: 'system_u:object_r:container_ro_file_t:s0',
  });
  t.same(await readSelinuxContexts({ contexts: join(dir, 'absent'), policies: join(dir, 'policies') }), {
    process: 'u:r:old_t:s0',
    file: 'u:object_r:old_file_t:s0',
    readOnlyFile: 'u:object_r:old_file_t:s0',
  });
  t.equal(await readSelinuxContexts({ contexts: join(dir, 'absent'), policies: join(dir, 'bare') }), undefined);
});
