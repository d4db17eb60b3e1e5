import t from 'tap';
import { CniErrorCode, SUPPORTED_CNI_VERSIONS, type CniResult, type CniVersion } from '../../src/index.js';
import { formatResult } from '../../src/result/format-result.js';
import { parseResult } from '../../src/result/parse-result.js';

const source = { command: 'ADD', plugin: 'bridge', network: 'net' } as const;
const parse = (value: unknown, version: CniVersion = '1.0.0'): CniResult => parseResult(JSON.stringify(value), version, source);

const full: CniResult = {
  interfaces: [
    { name: 'br0', mac: '00:11:22:33:44:55' },
    { name: 'eth0', mac: '99:88:77:66:55:44', mtu: 1450, sandbox: '/run/netns/a', socketPath: '/s', pciID: '0000:00:1f.6' },
  ],
  ips: [
    { address: '10.1.0.5/16', gateway: '10.1.0.1', interface: 1 },
    { address: '10.2.0.5/16', interface: 1 },
    { address: 'fd00::5/64', gateway: 'fd00::1', interface: 1 },
  ],
  routes: [
    { dst: '0.0.0.0/0', gw: '10.1.0.1', mtu: 1400, advmss: 1300, priority: 10, table: 0, scope: 253 },
    { dst: '::/0' },
  ],
  dns: { nameservers: ['10.1.0.1'], domain: 'a.example', search: ['b.example'], options: ['ndots:2'] },
};
const none = { nameservers: [], search: [], options: [] };

t.test('1.0 and 1.1 keep everything both ways', async (t) => {
  for (const version of ['1.0.0', '1.1.0'] as const) {
    const json = formatResult(full, version);
    t.equal(json['cniVersion'], version);
    t.same(parse(json), full);
  }
});

t.test('0.3 and 0.4 have a version at each address and plainer interfaces', async (t) => {
  for (const version of ['0.3.0', '0.3.1', '0.4.0'] as const) {
    const json = formatResult(full, version);
    t.match(json, {
      cniVersion: version,
      interfaces: [{ name: 'br0' }, { name: 'eth0', sandbox: '/run/netns/a' }],
      ips: [{ version: '4', address: '10.1.0.5/16', interface: 1 }, { version: '4' }, { version: '6', address: 'fd00::5/64' }],
    });
    t.notMatch(JSON.stringify(json), /socketPath|pciID|"mtu":1450/);
    t.same(parse(json), { ...full, interfaces: full.interfaces.map(({ name, mac, sandbox }) => ({ name, mac, ...(sandbox !== undefined && { sandbox }) })) });
  }
});

t.test('0.1 and 0.2 have one address of each family, with the routes of that family', async (t) => {
  for (const version of ['0.1.0', '0.2.0'] as const) {
    const json = formatResult(full, version);
    t.same(json, {
      cniVersion: version,
      ip4: { ip: '10.1.0.5/16', gateway: '10.1.0.1', routes: [{ dst: '0.0.0.0/0', gw: '10.1.0.1' }] },
      ip6: { ip: 'fd00::5/64', gateway: 'fd00::1', routes: [{ dst: '::/0' }] },
      dns: full.dns,
    });
    t.same(parse(json), {
      interfaces: [],
      ips: [{ address: '10.1.0.5/16', gateway: '10.1.0.1' }, { address: 'fd00::5/64', gateway: 'fd00::1' }],
      routes: [{ dst: '0.0.0.0/0', gw: '10.1.0.1' }, { dst: '::/0' }],
      dns: full.dns,
    });
  }
});

t.test('an empty result is empty in every version', async (t) => {
  const empty: CniResult = { interfaces: [], ips: [], routes: [], dns: none };
  for (const version of SUPPORTED_CNI_VERSIONS) {
    t.same(formatResult(empty, version), { cniVersion: version });
    t.same(parse({ cniVersion: version }), empty);
  }
});

t.test('without cniVersion a result is of the version of its configuration', async (t) => {
  t.same(parse({ ip4: { ip: '10.0.0.2/8' } }, '0.2.0').ips, [{ address: '10.0.0.2/8' }]);
  t.same(parse({ cniVersion: '', ips: [{ version: '4', address: '10.0.0.2/8' }] }, '0.3.1').ips, [{ address: '10.0.0.2/8' }]);
  t.same(parse({ ip4: { ip: '10.0.0.2/8' } }, '1.0.0').ips, []);
});

t.test("Go's empty values count as absent", async (t) => {
  const result = parse({
    interfaces: [{ name: 'eth0', mac: '', mtu: 0, sandbox: '' }],
    ips: [{ address: '10.0.0.2/8', gateway: '', interface: 0 }],
    routes: [{ dst: '0.0.0.0/0', gw: null, mtu: 0 }],
    dns: { domain: '' },
  });
  t.same(result, { interfaces: [{ name: 'eth0' }], ips: [{ address: '10.0.0.2/8', interface: 0 }], routes: [{ dst: '0.0.0.0/0' }], dns: none });
});

t.test('rubbish names the field', async (t) => {
  const cases: Array<[string, RegExp]> = [
    ['', /the plugin printed nothing/],
    ['  \n', /the plugin printed nothing/],
    ['Segmentation fault', /no JSON: "Segmentation fault"/],
    [`x${'y'.repeat(500)}`, /no JSON: "xy{199}…"/],
    ['null', /expected an object: "null"/],
    ['[]', /expected an object/],
    ['{"cniVersion":"3.0.0"}', /cniVersion: unsupported version "3\.0\.0"/],
    ['{"cniVersion":1}', /cniVersion: expected a string/],
    ['{"ips":{}}', /ips: expected a list/],
    ['{"ips":[1]}', /ips\[0\]: expected an object/],
    ['{"ips":[{}]}', /ips\[0\]\.address: missing/],
    ['{"ips":[{"address":"10.0.0.2"}]}', /ips\[0\]\.address: "10\.0\.0\.2" is no address in CIDR notation/],
    ['{"ips":[{"address":"10.0.0.2/8","gateway":"up"}]}', /ips\[0\]\.gateway: "up" is no IP address/],
    ['{"ips":[{"address":"10.0.0.2/8","interface":0}]}', /ips\[0\]\.interface: 0 is no index into the 0 interfaces/],
    ['{"interfaces":[{"name":"a"}],"ips":[{"address":"10.0.0.2/8","interface":-1}]}', /ips\[0\]\.interface/],
    ['{"interfaces":[{}]}', /interfaces\[0\]\.name: missing/],
    ['{"interfaces":[{"name":"a","mtu":"big"}]}', /interfaces\[0\]\.mtu: expected a whole number/],
    ['{"routes":[{"dst":"default"}]}', /routes\[0\]\.dst/],
    ['{"dns":[]}', /dns: expected an object/],
    ['{"dns":{"search":"a"}}', /dns\.search: expected a list/],
    ['{"dns":{"options":[1]}}', /dns\.options\[0\]: expected a string/],
    ['{"cniVersion":"0.2.0","ip4":{"ip":"x"}}', /ip4\.ip/],
  ];
  for (const [stdout, message] of cases) {
    t.throws(() => parseResult(stdout, '1.0.0', source), { name: 'CniError', failure: 'output', code: CniErrorCode.DecodingFailure, plugin: 'bridge', message }, stdout);
  }
});
