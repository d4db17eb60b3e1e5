import t from 'tap';
import { sysctlPath } from '../../src/netns/sysctls.js';

t.test('names in both spellings of sysctl(8)', async (t) => {
  t.equal(sysctlPath('net.ipv4.ip_forward'), '/proc/sys/net/ipv4/ip_forward');
  t.equal(sysctlPath('net/ipv4/ip_forward'), '/proc/sys/net/ipv4/ip_forward');
  t.equal(sysctlPath('net.ipv4.conf.eth0/1.forwarding'), '/proc/sys/net/ipv4/conf/eth0.1/forwarding');
  t.equal(sysctlPath('net/ipv4/conf/eth0.1/forwarding'), '/proc/sys/net/ipv4/conf/eth0.1/forwarding');
});

t.test('nothing outside of net can be reached', async (t) => {
  for (const name of ['', 'net', 'kernel.shmmax', 'kernel/net', '/net/x', 'net/../kernel/core_pattern', 'net//x', 'net/./x', 'net..x', 'net/a\0b', 'networks.x']) {
    t.throws(() => sysctlPath(name), { name: 'TypeError' }, name);
  }
  t.throws(() => sysctlPath('net./.kernel'), { name: 'TypeError' });
});
