import { setTimeout as pause } from 'node:timers/promises';
import { connectContainerd, resolveImage, type Containerd, type ResolvedImage } from '@criquet/runtime-containerd';
import t from 'tap';
import { patience } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import type { TestNode } from '../harness/node.js';
import { onEachEngine, type Test } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';
import { writeRegistryHosts } from '../harness/registry-hosts.js';
import { readForm } from './form.js';
import { Random } from './random.js';
import { onNodeNetwork } from './scenarios/configs.js';
import { criquetOf } from './scenarios/dying-daemon.js';
import { startSlowRegistry } from './slow-registry.js';

// I1: the daemon, containerd or both are killed at random moments of a pull; then parts of an image are deleted by hand.

const form = readForm();
const SEED = form.seed;
const KILLS = form.whole ? 50 : 5;
const HOST = 'slow.criquet.test';
const IMAGE = `${HOST}/e2e-test-images/nginx:1.14-2`;
const SNAPSHOTTER = 'overlayfs';
/** After each piece of 64 KiB. */
const PAUSE_MS = 15;

t.comment(`${KILLS} kills, CRIQUET_FAULTS_SEED=${SEED}`);

const isPresent = async ({ cri }: TestNode): Promise<boolean> => (await cri.image.imageStatus({ image: { image: IMAGE } }, CALL)).image !== undefined;
const pull = ({ cri }: TestNode) => cri.image.pullImage({ image: { image: IMAGE } }, CALL);

/** Makes a container of the image and runs it. Rejects when that does not work. */
async function use(t: Test, node: TestNode, pod: TestPod): Promise<void> {
  const { runtime } = node.cri;
  const config = { metadata: { name: 'user', attempt: 0 }, image: { image: IMAGE }, command: ['sh', '-c', 'test -x /usr/sbin/nginx || exit 3; exit 7'], logPath: 'user.log' };
  const { containerId } = await runtime.createContainer({ podSandboxId: pod.id, config, sandboxConfig: pod.config }, CALL);
  await runtime.startContainer({ containerId }, CALL);
  const status = await eventually(async () => {
    const { status: now } = await runtime.containerStatus({ containerId }, CALL);
    if (now?.finishedAt === 0n) throw new Error('it runs');
    return now;
  });
  t.equal(status?.exitCode, 7, 'a container of the image has its files');
  await runtime.removeContainer({ containerId }, CALL);
}

async function killDuringPull(t: Test, node: TestNode, pod: TestPod, random: Random, longest: number): Promise<string> {
  const victims = (['criquet', 'containerd', 'both'] as const)[random.between(0, 2)] ?? 'both';
  const pulling = pull(node).then(() => 'done', () => 'failed');
  await pause(patience(random.between(0, longest)));
  if (victims !== 'containerd') await criquetOf(node).kill();
  if (victims !== 'criquet') await node.containerd.stop('SIGKILL');
  const outcome = await pulling;
  node.reconnect();
  if (victims !== 'criquet') await node.containerd.start();
  if (victims !== 'containerd') await criquetOf(node).start();
  await eventually(() => node.expectReady(), 20_000);
  const present = await isPresent(node);
  if (present) await use(t, node, pod);
  await pull(node);
  t.ok(await isPresent(node), 'pulled again it is present');
  await use(t, node, pod);
  await node.cri.image.removeImage({ image: { image: IMAGE } }, CALL);
  return `${victims}: ${outcome}, ${present ? 'present' : 'absent'}`;
}

/** What can be taken away of an image, and whether a container can be made of the rest. */
const DAMAGES: readonly { readonly what: string; readonly usable: boolean; readonly take: (client: Containerd, image: ResolvedImage) => Promise<void> }[] = [
  { what: 'its config', usable: false, take: (client, { configDigest }) => client.content.delete(configDigest) },
  { what: 'its manifest', usable: false, take: (client, { manifestDigest }) => client.content.delete(manifestDigest) },
  { what: 'a layer', usable: true, take: (client, { layers }) => client.content.delete(layers.at(-1)?.digest ?? '') },
  { what: 'its snapshot', usable: true, take: (client, { chainId }) => client.snapshots.remove(SNAPSHOTTER, chainId) },
  {
    what: 'its snapshot and a layer',
    usable: false,
    async take(client, { layers, chainId }) {
      await client.content.delete(layers.at(-1)?.digest ?? '');
      await client.snapshots.remove(SNAPSHOTTER, chainId);
    },
  },
];

async function damage(t: Test, node: TestNode, pod: TestPod): Promise<void> {
  const client = connectContainerd({ address: node.containerd.paths.socket, namespace: 'k8s.io' });
  t.teardown(() => client.close());
  for (const [index, { what, usable, take }] of DAMAGES.entries()) {
    // In turn where time is short.
    for (const restart of form.whole ? [false, true] : [(index + SEED) % 2 === 0]) {
      await t.test(`without ${what}${restart ? ', found at a start' : ''}`, async (t) => {
        await pull(node);
        const { target } = await client.images.get(IMAGE);
        await take(client, await resolveImage(client.content, target));
        if (restart) {
          await criquetOf(node).kill();
          node.reconnect();
          await criquetOf(node).start();
          t.equal(await isPresent(node), usable, usable ? 'present' : 'a broken image is not reported present');
        }
        if (usable) await use(t, node, pod);
        await pull(node);
        t.ok(await isPresent(node));
        await use(t, node, pod);
        if (!usable && !restart) {
          await take(client, await resolveImage(client.content, target));
          // What is needed of it is in memory; a create that fails makes it absent, so that it is pulled again.
          const made = await use(t, node, pod).then(() => true, () => false);
          t.equal(await isPresent(node), made, 'after a create that failed it is not reported present');
        }
        await pull(node);
        await node.cri.image.removeImage({ image: { image: IMAGE } }, CALL);
      });
    }
  }
}

await onEachEngine(
  'I1: pulls that are killed, images that are damaged',
  async (t, node) => {
    const registry = await startSlowRegistry(node, PAUSE_MS);
    t.teardown(() => registry.close());
    await writeRegistryHosts(node.hostsDir, registry.url, [HOST]);
    await node.cri.image.pullImage({ image: { image: BUSYBOX } }, CALL);
    const pod = await TestPod.run(node, onNodeNetwork(node));
    const began = Date.now();
    await pull(node);
    const longest = Date.now() - began;
    await node.cri.image.removeImage({ image: { image: IMAGE } }, CALL);
    const clean = await node.state();
    const random = new Random(SEED);
    const outcomes: string[] = [];
    for (let kill = 1; kill <= KILLS; kill++) {
      await t.test(`kill ${kill}`, async (t) => {
        outcomes.push(await killDuringPull(t, node, pod, random, longest));
      });
    }
    t.strictSame(await node.leaksSince(clean, 20_000), [], 'nothing is left of the pulls');
    await t.test('parts deleted by hand', (t) => damage(t, node, pod));
    const count = (word: string) => outcomes.filter((outcome) => outcome.includes(word)).length;
    t.comment(`covered: ${KILLS} kills in pulls of ${longest} ms: ${count('failed')} pulls failed, ${count('present')} images were there afterwards; ${DAMAGES.length * (form.whole ? 2 : 1)} damages`);
    await pod.remove();
  },
  { only: 'criquet', ...(form.whole ? {} : { engines: 'newest' }) },
);
