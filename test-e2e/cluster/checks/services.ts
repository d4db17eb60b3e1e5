import assert from 'node:assert/strict';
import { eventually } from '../../harness/eventually.js';
import { clusterDns, DNS_DOMAIN } from '../../harness/kubernetes/cluster-dns.js';
import type { Kubectl } from '../../harness/kubernetes/kubectl.js';
import { AGNHOST, deployment, FOR_EVER, pod, script, service, webServer, type List, type Pod } from './objects.js';
import type { Scene } from './scene.js';

/** A Service is reached by its address and by a port of the node, and leads to each of its pods. */
export async function clusterIpAndNodePort({ kubectl, node }: Scene): Promise<void> {
  await kubectl.apply(deployment('web', 2, webServer()), service('web', { type: 'NodePort' }), pod('client', clientContainer));
  await kubectl.rolledOut('deployment/web');
  await kubectl.wait('condition=Ready', 'pod/client');
  const names = (await podsOf(kubectl, 'web')).map(({ metadata }) => metadata.name).sort();
  const { spec } = await kubectl.json<{ spec: { clusterIP: string; ports: { nodePort: number }[] } }>('get', 'service', 'web');
  const answered = new Set<string>();
  await eventually(async () => {
    answered.add(await fetchFrom(kubectl, 'client', `http://${spec.clusterIP}/hostname`));
    assert.deepEqual([...answered].sort(), names);
  }, 60_000, 100);
  const outside = new Set<string>();
  await eventually(async () => {
    const response = await fetch(`http://${node.room.address}:${spec.ports[0]?.nodePort}/hostname`, { headers: { Connection: 'close' }, signal: AbortSignal.timeout(5_000) });
    outside.add(await response.text());
    assert.deepEqual([...outside].sort(), names);
  }, 60_000, 50);
  // A pod may reach itself through its own Service: its bridge must hand packets back.
  const [own] = names;
  const reached = new Set<string>();
  await eventually(async () => {
    reached.add(await fetchFrom(kubectl, own ?? '', `http://${spec.clusterIP}/hostname`));
    assert.deepEqual([...reached].sort(), names);
  }, 60_000, 100);
}

/** CoreDNS runs, and pods find Services, headless ones too, and the pods behind those. */
export async function dns({ kubectl, cluster }: Scene, image: string): Promise<void> {
  await cluster.kubectl.apply(...clusterDns(image));
  await kubectl.apply(
    deployment('web', 2, webServer()),
    service('web'),
    { ...service('all', { clusterIP: 'None', selector: { app: 'web' } }) },
    pod('client', clientContainer),
  );
  await cluster.kubectl.in('kube-system').rolledOut('deployment/coredns');
  await kubectl.rolledOut('deployment/web');
  await kubectl.wait('condition=Ready', 'pod/client');
  const look = async (name: string) => (await kubectl.run('exec', 'client', '--', 'dig', '+short', '+search', name)).trim().split('\n').sort();
  const { spec } = await kubectl.json<{ spec: { clusterIP: string } }>('get', 'service', 'web');
  await eventually(async () => assert.deepEqual(await look('web'), [spec.clusterIP]), 30_000, 500);
  assert.deepEqual(await look(`web.${kubectl.namespace}.svc.${DNS_DOMAIN}`), [spec.clusterIP]);
  const addresses = (await podsOf(kubectl, 'web')).map(({ status }) => status.podIP).sort();
  await eventually(async () => assert.deepEqual(await look('all'), addresses), 30_000, 500);
  assert.deepEqual(await look('kubernetes.default.svc'), ['10.96.0.1']);
  const name = await fetchFrom(kubectl, 'client', 'http://web/hostname');
  assert.match(name, /^web-/);
}

/** A pod is behind its Service while its probe passes and its readiness gate is open. */
export async function readiness({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(
    service('gate'),
    pod(
      'gate',
      script(`touch /tmp/ready; ${FOR_EVER}`, { readinessProbe: { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1, failureThreshold: 1 } }),
      { readinessGates: [{ conditionType: 'example.test/open' }] },
    ),
  );
  await kubectl.wait('condition=ContainersReady', 'pod/gate');
  const behind = async () => {
    const { items } = await kubectl.json<List<{ endpoints: { conditions: { ready: boolean } }[] | null }>>(
      'get', 'endpointslices', '--selector=kubernetes.io/service-name=gate',
    );
    return items.flatMap(({ endpoints }) => endpoints ?? []).map(({ conditions }) => conditions.ready);
  };
  const expectBehind = (ready: boolean) => eventually(async () => assert.deepEqual(await behind(), [ready]), 40_000, 300);
  await expectBehind(false);
  await kubectl.run(
    'patch', 'pod', 'gate', '--subresource=status', '--type=strategic',
    '--patch', JSON.stringify({ status: { conditions: [{ type: 'example.test/open', status: 'True' }] } }),
  );
  await expectBehind(true);
  await kubectl.run('exec', 'gate', '--', 'rm', '/tmp/ready');
  await expectBehind(false);
  await kubectl.run('exec', 'gate', '--', 'touch', '/tmp/ready');
  await expectBehind(true);
}

/** A pod with `curl` and `dig`. */
export const clientContainer = { name: 'main', image: AGNHOST, args: ['pause'] };

/** What a URL answers to a pod. */
export async function fetchFrom(kubectl: Kubectl, podName: string, url: string): Promise<string> {
  return kubectl.run('exec', podName, '--', 'curl', '--silent', '--show-error', '--max-time', '10', url);
}

export async function podsOf(kubectl: Kubectl, app: string): Promise<readonly Pod[]> {
  const { items } = await kubectl.json<List<Pod>>('get', 'pods', `--selector=app=${app}`);
  return items;
}
