import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { eventually } from '../harness/eventually.js';
import { pod, shell, STAY } from './manifest.js';
import type { Topic } from './side-by-side.js';

/** `$$` in a manifest is `$` when the kubelet has read it. */
const OWN_PID = '$$$$';

const web = (port: number, page: string): string => `mkdir /www; echo ${page} >/www/index.html; httpd -p ${port} -h /www; ${STAY}`;

/** A page by plain HTTP, from outside of the node. */
function page(address: string, port: number): Promise<string> {
  return eventually(
    () =>
      new Promise<string>((resolve, reject) => {
        get({ host: address, port, agent: false, timeout: 2_000 }, (response) => text(response).then(resolve, reject)).once('error', reject);
      }),
  );
}

/** The node's network, ports of the node, and what a pod is told about names. */
export const networks: Topic = async (t, side) => {
  await side.apply(
    pod('host-network', { hostNetwork: true, containers: [shell('main', web(18080, 'host-network'))] }),
    pod('host-port', { containers: [shell('main', web(80, 'host-port'), { ports: [{ containerPort: 80, hostPort: 18081 }] })] }),
    pod('names', {
      hostname: 'known-as',
      hostAliases: [{ ip: '10.1.2.3', hostnames: ['far.example'] }],
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.4.5.6'], searches: ['near.example'], options: [{ name: 'ndots', value: '3' }] },
      containers: [shell('main', `hostname; cat /etc/resolv.conf; ${STAY}`)],
    }),
    pod('node-namespaces', { hostPID: true, hostIPC: true, containers: [shell('main', `test ${OWN_PID} -gt 1 && echo the pids of the node; ${STAY}`)] }),
    pod('shared-pids', { shareProcessNamespace: true, containers: [shell('one', STAY), shell('two', 'sleep 1; exec sleep 4321')] }),
  );

  const { room } = side.machine;
  const onHost = await side.ready('host-network');
  t.equal(await page(room.address, 18080), 'host-network\n', "by the node's address");
  side.tell('pods/host-network', onHost.status);
  side.tell('pods/host-network/hosts', await side.run('host-network', 'main', 'cat', '/etc/hosts'));

  const behindPort = await side.ready('host-port');
  t.ok(behindPort.status.podIP?.startsWith(side.machine.node.network.subnet.replace(/0\/24$/, '')), `an address of the pods' network: ${behindPort.status.podIP}`);
  t.equal(await page(room.address, 18081), 'host-port\n', "by the node's port");
  t.equal(await page(behindPort.status.podIP ?? '', 80), 'host-port\n', "by the pod's own address");
  side.tell('pods/host-port', behindPort.status);

  await side.ready('names');
  t.same((await side.lines('names', 'main', 4)).sort(), ['known-as', 'nameserver 10.4.5.6', 'options ndots:3', 'search near.example']);
  t.match(await side.run('names', 'main', 'cat', '/etc/hosts'), /^10\.1\.2\.3\s+far\.example$/m);
  side.tell('pods/names/hosts', await side.run('names', 'main', 'cat', '/etc/hosts'));

  await side.ready('node-namespaces');
  t.same(await side.lines('node-namespaces', 'main', 1), ['the pids of the node']);

  await side.ready('shared-pids');
  await eventually(async () => t.match(await side.run('shared-pids', 'one', 'ps'), /sleep 4321/, "the other container's process is seen"));

  await side.remove('host-port');
  const refused = await new Promise<boolean>((resolve) => {
    get({ host: room.address, port: 18081, agent: false, timeout: 2_000 }, () => resolve(false)).once('error', () => resolve(true));
  });
  t.ok(refused, "the node's port is free again");
};
