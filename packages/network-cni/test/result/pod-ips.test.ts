import t from 'tap';
import { podIps, type CniResult, type ResultIp } from '../../src/index.js';

const result = (ips: readonly ResultIp[], interfaces: CniResult['interfaces'] = [{ name: 'eth0', sandbox: '/n' }]): CniResult => ({
  interfaces,
  ips,
  routes: [],
  dns: { nameservers: [], search: [], options: [] },
});
const at = (...addresses: string[]): ResultIp[] => addresses.map((address) => ({ address, interface: 0 }));

t.test('N6: the preferred family leads, the others keep their order, in both orders of the ranges', async (t) => {
  t.same(podIps(result(at('10.0.0.2/24', 'fd00::2/64')), 'eth0'), ['10.0.0.2', 'fd00::2']);
  t.same(podIps(result(at('fd00::2/64', '10.0.0.2/24')), 'eth0'), ['10.0.0.2', 'fd00::2']);
  t.same(podIps(result(at('fd00::2/64', 'fd00::3/64', '10.0.0.2/24', '10.0.0.3/24')), 'eth0'), ['10.0.0.2', 'fd00::2', 'fd00::3', '10.0.0.3']);
  t.same(podIps(result(at('10.0.0.2/24', 'fd00::2/64')), 'eth0', 'ipv6'), ['fd00::2', '10.0.0.2']);
  t.same(podIps(result(at('fd00::2/64', '10.0.0.2/24')), 'eth0', 'cni'), ['fd00::2', '10.0.0.2']);
  t.same(podIps(result(at('fd00::2/64')), 'eth0', 'ipv4'), ['fd00::2']);
  t.same(podIps(result([]), 'eth0'), []);
});

t.test('only addresses of the interface in the sandbox count', async (t) => {
  const interfaces = [{ name: 'eth0' }, { name: 'eth0', sandbox: '/n' }, { name: 'net1', sandbox: '/n' }];
  const ips = [
    { address: '10.0.0.1/24', interface: 0 },
    { address: '10.0.0.2/24', interface: 1 },
    { address: '10.0.0.3/24', interface: 2 },
  ];
  t.same(podIps(result(ips, interfaces), 'eth0'), ['10.0.0.2']);
  t.same(podIps(result(ips, interfaces), 'net1'), ['10.0.0.3']);
  t.same(podIps(result(ips.slice(0, 1), interfaces.slice(0, 1)), 'eth0'), ['10.0.0.1'], 'a plugin that names no sandbox');
  t.same(podIps(result([{ address: '10.0.0.2/24' }], []), 'eth0'), ['10.0.0.2'], 'a result without interfaces');
});

t.test('one spelling for one address, each once', async (t) => {
  t.same(podIps(result(at('FD00:0:0::0002/64', 'fd00::2/64', '10.0.0.2/24')), 'eth0'), ['10.0.0.2', 'fd00::2']);
});
