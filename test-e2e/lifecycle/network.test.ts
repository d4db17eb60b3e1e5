import { get } from 'node:http';
import { hostname } from 'node:os';
import { NamespaceMode } from '@criquet/cri-api';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { onEachEngine, runtimeUnderTest } from '../harness/on-each-engine.js';
import { reservedAddresses } from '../harness/pod-network.js';
import { CALL, TestPod } from '../harness/pods.js';

const SERVER = { command: ['sh', '-c', 'mkdir /www && echo "hello from $(hostname)" > /www/index.html && exec httpd -f -p 80 -h /www'] };

await onEachEngine('networks', async (t, node) => {
  const { runtime } = node.cri;

  await t.test('a pod is reached at its address, from another pod and at its host port', async (t) => {
    const hostPort = await freePort();
    const pod = await TestPod.run(node, {
      hostname: 'server',
      portMappings: [
        { containerPort: 80, hostPort },
        { containerPort: 81, hostPort: 0 },
      ],
    });
    await pod.start(SERVER);
    const ip = await pod.ip();
    t.strictSame(await reservedAddresses(node.network), [ip]);
    t.equal(await eventually(() => page(`http://${ip}/`)), 'hello from server\n');
    t.equal(await eventually(() => page(`http://127.0.0.1:${hostPort}/`)), 'hello from server\n');
    const other = await TestPod.run(node);
    const client = await other.start();
    t.match(await client.exec(['wget', '-q', '-O', '-', `http://${ip}/`]), { stdout: 'hello from server\n' });
    t.match(await client.exec(['sh', '-c', 'cat /proc/net/dev']), { stdout: /lo:[\s\S]*eth0:/ });
    t.match(await client.exec(['ping', '-c', '1', '-W', '2', '127.0.0.1']), { exitCode: 0 }, 'lo is up');
    await Promise.all([pod.remove(), other.remove()]);
    t.strictSame(await reservedAddresses(node.network), [], 'both addresses are given back');
    await t.rejects(page(`http://127.0.0.1:${hostPort}/`), 'and the host port');
  });

  await t.test('twenty pods at once: no address twice, none kept', async (t) => {
    const pods = await Promise.all(Array.from({ length: 20 }, () => TestPod.run(node)));
    const addresses = await Promise.all(pods.map((pod) => pod.ip()));
    t.equal(new Set(addresses).size, 20);
    await Promise.all(pods.map((pod) => pod.remove()));
    t.strictSame(await reservedAddresses(node.network), []);
  });

  await t.test('resolv.conf, hosts and hostname', async (t) => {
    const pod = await TestPod.run(node, {
      hostname: 'named',
      dnsConfig: { servers: ['10.10.10.10'], searches: ['example.test'], options: ['ndots:3'] },
    });
    const container = await pod.start();
    const { stdout } = await container.exec(['cat', '/etc/resolv.conf']);
    t.strictSame(stdout.trim().split('\n'), ['search example.test', 'nameserver 10.10.10.10', 'options ndots:3']);
    t.match(await container.exec(['cat', '/etc/hostname']), { stdout: 'named\n' });
    t.match((await container.exec(['cat', '/etc/hosts'])).stdout, /127\.0\.0\.1\s+localhost/);
    t.match(await container.exec(['hostname']), { stdout: 'named\n' });
    await pod.remove();
  });

  await t.test('N8: host network: the host\'s links, no address of its own, the host\'s name stays', async (t) => {
    const before = hostname();
    const pod = await TestPod.run(node, {
      // The yardstick refuses a name of the pod's own here.
      hostname: runtimeUnderTest === 'criquet' ? 'foo' : '',
      linux: { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } }, cgroupParent: node.podCgroup() },
    });
    const container = await pod.start({ linux: { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } } });
    t.match(await container.exec(['cat', '/proc/net/dev']), { stdout: new RegExp(node.network.bridge) });
    t.strictSame(await reservedAddresses(node.network), []);
    t.match(await container.exec(['hostname']), { stdout: `${before}\n` }, "the container has the host's name");
    t.match(await container.exec(['cat', '/etc/hostname']), { stdout: `${before}\n` });
    t.equal(hostname(), before);
    await pod.remove();
    t.equal(hostname(), before);
    t.strictSame((await runtime.listPodSandbox({}, CALL)).items, []);
  });
});

function page(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(url, { timeout: 2_000 }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (body += chunk));
      response.on('end', () => resolve(body));
    });
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', reject);
  });
}
