import { status } from '@grpc/grpc-js';
import t from 'tap';
import { sandboxSysctls } from '../../src/spec/sysctls.js';
import { errorOf, node } from './fixtures.js';

const own = { hostNetwork: false, hostIpc: false, node: node() };
const DEFAULTS = { 'net.ipv4.ip_unprivileged_port_start': '0', 'net.ipv4.ping_group_range': '0 2147483647' };

void t.test('low ports and ping are open unless the pod sets them or shares the network', (t) => {
  t.same(sandboxSysctls({}, own), DEFAULTS);
  t.same(sandboxSysctls({ 'net.ipv4.ip_unprivileged_port_start': '1024' }, own), {
    ...DEFAULTS,
    'net.ipv4.ip_unprivileged_port_start': '1024',
  });
  t.same(sandboxSysctls({}, { ...own, hostNetwork: true }), {});
  const without = node({ networkSysctls: { unprivilegedPortStart: false, pingGroupRange: false } });
  t.same(sandboxSysctls({}, { ...own, node: without }), {}, 'a kernel without them');
  t.end();
});

void t.test('the slash form counts too', (t) => {
  t.equal(sandboxSysctls({ 'net/ipv4/ping_group_range': '1 0' }, own)['net.ipv4.ping_group_range'], '1 0');
  t.end();
});

void t.test('IPC sysctls in an IPC namespace of the pod', async (t) => {
  t.match(sandboxSysctls({ 'kernel.shm_rmid_forced': '1', 'fs.mqueue.msg_max': '10' }, own), {
    'kernel.shm_rmid_forced': '1',
  });
  const error = await errorOf(() => sandboxSysctls({ 'kernel.sem': '1' }, { ...own, hostIpc: true }));
  t.equal(error.code, status.INVALID_ARGUMENT);
});

void t.test('a name that climbs is refused, in whichever form', async (t) => {
  const climbing = ['net.ipv4/../../kernel/core_pattern', 'net/../kernel/core_pattern', 'net..kernel.core_pattern', 'net.', 'net./x', '/net/x', 'net.a b', 'net.a\nb', ''];
  for (const name of climbing) {
    const error = await errorOf(() => sandboxSysctls({ [name]: '1' }, own));
    t.match(error, { code: status.INVALID_ARGUMENT, message: /config\.linux\.sysctls: .* is no name of a sysctl/ }, JSON.stringify(name));
  }
  t.equal(sandboxSysctls({ 'net/ipv4/conf/eth0.1/mtu': '1500' }, own)['net.ipv4.conf.eth0/1.mtu'], '1500', 'an interface may have a dot');
});

void t.test('what would change the node is refused by name', async (t) => {
  for (const name of ['vm.overcommit_memory', 'kernel.panic', 'kernel.hostname', 'fs.file-max']) {
    const error = await errorOf(() => sandboxSysctls({ [name]: '1' }, own));
    t.equal(error.code, status.INVALID_ARGUMENT);
    t.ok(error.message.startsWith(`config.linux.sysctls: "${name}"`), error.message);
  }
  t.match(
    (await errorOf(() => sandboxSysctls({ 'net.core.somaxconn': '1' }, { ...own, hostNetwork: true }))).message,
    /network/,
  );
  t.equal(sandboxSysctls({ 'kernel.domainname': 'x' }, own)['kernel.domainname'], 'x');
  t.match(
    (await errorOf(() => sandboxSysctls({ 'kernel.domainname': 'x' }, { ...own, hostNetwork: true }))).message,
    /node/,
  );
});
