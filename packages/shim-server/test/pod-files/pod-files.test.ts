import { hostname } from 'node:os';
import { DNSConfig } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { chooseNodeResolvConf, hostnameFile, hostsFile, podHostname, resolvConf } from '../../src/pod-files/index.js';

const refused = (message: RegExp) => ({ code: status.INVALID_ARGUMENT, message });

void t.test("hosts: the node's file, or the local names and the pod", (t) => {
  t.equal(hostsFile('127.0.0.1 localhost\n10.0.0.1 registry'), '127.0.0.1 localhost\n10.0.0.1 registry\n');
  const local = hostsFile('');
  t.match(local, /^127\.0\.0\.1\tlocalhost$/m);
  t.match(local, /^::1\tlocalhost/m);
  const pod = hostsFile('10.0.0.1 registry\n', { hostname: 'web-0', ips: ['10.88.0.5', 'fd00::5', 'rubbish'] });
  t.notMatch(pod, /registry|rubbish/);
  t.ok(pod.endsWith('10.88.0.5\tweb-0\nfd00::5\tweb-0\n'));
  t.match(pod, /^127\.0\.0\.1\tlocalhost$/m);
  t.end();
});

void t.test('hostname', (t) => {
  t.equal(hostnameFile('web-0', false), 'web-0\n');
  t.equal(hostnameFile('', false), `${hostname()}\n`);
  t.equal(podHostname('', false, 'node-1'), 'node-1');
  t.equal(podHostname('foo', true, 'node-1'), 'node-1', 'N8 hostNetwork hostname: what hostname(1) says there');
  t.equal(podHostname('x'.repeat(64), false), 'x'.repeat(64));
  for (const name of ['x'.repeat(65), 'ä'.repeat(33), 'a b', 'a\nb', 'a/b', 'a\0']) {
    t.throws(() => hostnameFile(name, false), refused(/^config\.hostname/));
  }
  t.end();
});

void t.test('resolv.conf from CRI', (t) => {
  const config = DNSConfig.fromPartial({
    servers: ['10.96.0.10', 'fe80::1%eth0'],
    searches: ['default.svc.cluster.local', 'cluster.local'],
    options: ['ndots:5', 'edns0'],
  });
  t.equal(
    resolvConf(config, 'nameserver 1.1.1.1\n'),
    'search default.svc.cluster.local cluster.local\nnameserver 10.96.0.10\nnameserver fe80::1%eth0\noptions ndots:5 edns0\n',
  );
  t.equal(resolvConf(DNSConfig.fromPartial({ options: ['ndots:1'] }), 'x'), 'options ndots:1\n');
  t.end();
});

void t.test('resolv.conf of the node when CRI gives nothing', (t) => {
  t.equal(resolvConf(undefined, 'nameserver 1.1.1.1\n'), 'nameserver 1.1.1.1\n');
  t.equal(resolvConf(DNSConfig.fromPartial({}), 'nameserver 1.1.1.1\n'), 'nameserver 1.1.1.1\n');
  const stub = 'nameserver 127.0.0.53\noptions edns0\n';
  const real = 'nameserver 192.168.1.1\n';
  t.equal(chooseNodeResolvConf(stub, real), real);
  t.equal(chooseNodeResolvConf(stub, ''), stub);
  t.equal(chooseNodeResolvConf(`${stub}nameserver 9.9.9.9\n`, real), `${stub}nameserver 9.9.9.9\n`);
  t.equal(chooseNodeResolvConf('', real), '');
  t.end();
});

void t.test('resolv.conf: what would be read as something else is refused', (t) => {
  const bad = (change: Parameters<typeof DNSConfig.fromPartial>[0], message: RegExp) =>
    t.throws(() => resolvConf(DNSConfig.fromPartial(change), ''), refused(message));
  bad({ servers: ['10.0.0.1', 'dns.example'] }, /^config\.dns_config\.servers\[1\]: "dns\.example"/);
  bad({ servers: ['fe80::1%eth0%x'] }, /servers\[0\]/);
  bad({ servers: ['10.0.0.1%a b'] }, /servers\[0\]/);
  bad({ servers: ['10.0.0.1\nnameserver 6.6.6.6'] }, /servers\[0\]/);
  bad({ searches: ['a b'] }, /^config\.dns_config\.searches\[0\]/);
  bad({ searches: ['ok', ''] }, /searches\[1\]/);
  bad({ options: ['ndots:5\nnameserver 6.6.6.6'] }, /^config\.dns_config\.options\[0\]/);
  bad({ searches: Array.from({ length: 33 }, (_, index) => `s${index}`) }, /searches: more than 32/);
  bad({ searches: ['x'.repeat(2049)] }, /2048 characters/);
  t.end();
});
