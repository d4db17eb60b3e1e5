import t from 'tap';
import { capabilityArgs, type CapabilityInput, type PortMappingInput } from '../../src/index.js';
import { parseQuantity } from '../../src/attachment/resource-quantity.js';

const INGRESS = 'kubernetes.io/ingress-bandwidth';
const EGRESS = 'kubernetes.io/egress-bandwidth';

t.test('nothing asked for gives nothing', async (t) => {
  t.same(capabilityArgs({}), {});
  t.same(capabilityArgs({ portMappings: [], ips: [], cgroupPath: '', mac: '' }), {});
});

t.test('port mappings: host port 0 maps nothing, protocols in lower case', async (t) => {
  const portMappings = [
    { hostPort: 8080, containerPort: 80, protocol: 'TCP' },
    { hostPort: 0, containerPort: 81, protocol: 'TCP' },
    { hostPort: 53, containerPort: 53, protocol: 'UDP', hostIp: '127.0.0.1' },
    { hostPort: 9, containerPort: 9, protocol: 'SCTP', hostIp: '' },
    { hostPort: 65535, containerPort: 1 },
  ];
  t.same(capabilityArgs({ portMappings })['portMappings'], [
    { hostPort: 8080, containerPort: 80, protocol: 'tcp' },
    { hostPort: 53, containerPort: 53, protocol: 'udp', hostIP: '127.0.0.1' },
    { hostPort: 9, containerPort: 9, protocol: 'sctp' },
    { hostPort: 65535, containerPort: 1, protocol: 'tcp' },
  ]);
  t.notOk('portMappings' in capabilityArgs({ portMappings: [{ hostPort: 0, containerPort: 80 }] }));
});

t.test('a bad port mapping names its field', async (t) => {
  const cases: Array<[PortMappingInput, RegExp]> = [
    [{ hostPort: -1, containerPort: 80 }, /port_mappings\[0\]\.host_port: -1/],
    [{ hostPort: 65536, containerPort: 80 }, /host_port: 65536/],
    [{ hostPort: 80, containerPort: 0 }, /container_port: 0/],
    [{ hostPort: 80, containerPort: 1.5 }, /container_port: 1\.5/],
    [{ hostPort: 80, containerPort: 80, protocol: 'icmp' }, /protocol: "icmp"/],
    [{ hostPort: 80, containerPort: 80, hostIp: 'localhost' }, /host_ip: "localhost"/],
  ];
  for (const [mapping, message] of cases) t.throws(() => capabilityArgs({ portMappings: [mapping] }), { name: 'TypeError', message });
});

t.test("bandwidth by annotations in bits a second, with the burst that containerd sets; the annotations themselves", async (t) => {
  const podAnnotations = { [INGRESS]: '10M', [EGRESS]: '1Gi', other: 'x' };
  t.same(capabilityArgs({ podAnnotations }), {
    bandwidth: { ingressRate: 10_000_000, ingressBurst: 4294967295, egressRate: 1_073_741_824, egressBurst: 4294967295 },
    'io.kubernetes.cri.pod-annotations': podAnnotations,
  });
  t.same(capabilityArgs({ podAnnotations: { [EGRESS]: '1k' } })['bandwidth'], { egressRate: 1000, egressBurst: 4294967295 });
  t.same(capabilityArgs({ podAnnotations: {} }), { 'io.kubernetes.cri.pod-annotations': {} });
});

t.test('a bad bandwidth names its annotation', async (t) => {
  for (const [text, message] of [['fast', /no resource quantity/], ['999', /less than 1k/], ['-10M', /less than 1k/], ['2P', /more than 1P/], ['', /no resource quantity/]] as const) {
    for (const name of [INGRESS, EGRESS]) {
      t.throws(() => capabilityArgs({ podAnnotations: { [name]: text } }), { name: 'TypeError', message });
      t.throws(() => capabilityArgs({ podAnnotations: { [name]: text } }), { name: 'TypeError', message: new RegExp(name) });
    }
  }
  t.doesNotThrow(() => capabilityArgs({ podAnnotations: { [INGRESS]: '1P' } }));
});

t.test('dns, cgroup path, addresses, hardware address', async (t) => {
  const input: CapabilityInput = {
    dns: { servers: ['10.0.0.10'], searches: ['a.example'], options: ['ndots:5'] },
    cgroupPath: '/kubepods/pod1',
    ips: ['10.0.0.5', 'fd00::5/64'],
    mac: 'C2:11:22:33:44:55',
  };
  t.same(capabilityArgs(input), input);
  t.throws(() => capabilityArgs({ ips: ['10.0.0.5', 'no'] }), { name: 'TypeError', message: /ips\[1\]: "no"/ });
  t.throws(() => capabilityArgs({ mac: 'c2:11' }), { name: 'TypeError', message: /mac/ });
});

t.test("quantities as Kubernetes' API machinery reads them, rounded up", async (t) => {
  const cases: Array<[string, bigint]> = [
    ['0', 0n], ['1', 1n], ['+5', 5n], ['-5', -5n], ['1.5', 2n], ['.5', 1n], ['5.', 5n], ['-1.5', -1n],
    ['1k', 1000n], ['1Ki', 1024n], ['1.5Ki', 1536n], ['1M', 1_000_000n], ['1Mi', 1_048_576n], ['2G', 2_000_000_000n],
    ['1T', 10n ** 12n], ['1P', 10n ** 15n], ['1E', 10n ** 18n], ['1Ei', 2n ** 60n],
    ['1500m', 2n], ['1000m', 1n], ['1u', 1n], ['1n', 1n], ['1e3', 1000n], ['1E3', 1000n], ['15e-1', 2n], ['1.25e2', 125n],
  ];
  for (const [text, expected] of cases) t.equal(parseQuantity(text), expected, text);
  for (const text of ['', 'k', '1K', '1 k', '1kk', '1mi', '0x1', '1e', '1e3k', '--1', '1,5', 'Infinity', '1e999', `1${'0'.repeat(80)}`]) {
    t.equal(parseQuantity(text), undefined, text);
  }
});
