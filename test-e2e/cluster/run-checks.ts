import type { Test } from 'tap';
import type { Cluster } from '../harness/kubernetes/cluster.js';
import type { Check } from './checks/scene.js';

/** Checks by what they are called in the report. */
export type Checks = Readonly<Record<string, Check>>;

/** Checks that must fail, by name, and what the failure must say. */
export type Differences = Readonly<Record<string, RegExp>>;

/**
 * Runs checks one after the other, each in a namespace of its own, and waits until the namespaces are gone with all that was in them.
 *
 * @param differences what the runtime cannot do. They must be true: a check among them that passes fails
 */
export async function runChecks(t: Test, cluster: Cluster, checks: Checks, differences: Differences = {}): Promise<void> {
  const names = Object.keys(checks);
  const namespaces = names.map((_, index) => `check-${index}`);
  const node = cluster.nodes[0];
  if (node === undefined) throw new Error('a cluster without nodes');
  await cluster.kubectl.apply(...namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })));
  for (const [index, name] of names.entries()) {
    const namespace = namespaces[index] ?? '';
    const kubectl = cluster.kubectl.in(namespace);
    await t.test(name, async (t) => {
      await kubectl.wait('create', 'serviceaccount/default');
      const happened = async () => checks[name]?.({ cluster, kubectl, node });
      const difference = differences[name];
      if (difference !== undefined) {
        await t.rejects(happened(), { message: difference }, 'fails as the list of differences says');
        return;
      }
      try {
        await happened();
        t.pass(name);
      } catch (error) {
        t.comment(await kubectl.run('get', 'pods', '--output=wide'));
        t.comment(await kubectl.run('get', 'events'));
        throw error;
      } finally {
        await kubectl.run('delete', 'namespace', namespace, '--wait=false');
      }
    });
  }
  await cluster.kubectl.run('delete', 'namespace', '--ignore-not-found', '--timeout=110s', ...namespaces);
}
