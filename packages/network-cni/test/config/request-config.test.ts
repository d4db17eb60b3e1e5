import t from 'tap';
import { attachmentRequest, networkRequest } from '../../src/config/request-config.js';
import { listOf } from '../fixtures/lists.js';

t.test('inserts version, name, runtimeConfig and prevResult, and passes the rest on (CNI spec, section 3)', async (t) => {
  const list = listOf('1.1.0', [
    {
      type: 'portmap',
      name: 'overwritten',
      cniVersion: '0.3.1',
      capabilities: { portMappings: true, mac: false, bandwidth: true, dns: true },
      'cni.dev/own': 1,
      prevResult: 'stale',
      snat: true,
      ipam: { type: 'host-local', unknown: [1, { a: null }] },
    },
  ]);
  const plugin = list.plugins[0]!;
  const capabilities = { portMappings: [{ hostPort: 80 }], mac: 'aa', dns: undefined, other: 1 };
  t.same(attachmentRequest(list, plugin, capabilities, { ips: [] }), {
    type: 'portmap',
    snat: true,
    ipam: { type: 'host-local', unknown: [1, { a: null }] },
    cniVersion: '1.1.0',
    name: 'net',
    runtimeConfig: { portMappings: [{ hostPort: 80 }] },
    prevResult: { ips: [] },
  });
  const first = attachmentRequest(list, plugin, {}, undefined);
  t.notOk('prevResult' in first);
  t.notOk('runtimeConfig' in first);
});

t.test('requests of the network have no attachment fields', async (t) => {
  const list = listOf('1.1.0', [{ type: 'a', capabilities: { mac: true }, 'cni.dev/own': 1, key: 'v' }]);
  t.same(networkRequest(list, list.plugins[0]!, { 'cni.dev/valid-attachments': [] }), {
    type: 'a',
    capabilities: { mac: true },
    key: 'v',
    cniVersion: '1.1.0',
    name: 'net',
    'cni.dev/valid-attachments': [],
  });
});
