import { request, type ClientRequest } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { ContainerState, type CriCallError } from '@criquet/cri-api';
import { eventually } from '../harness/eventually.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';

/** The harness' own configuration ends with the table of images. */
const LIMITS = `
max_parallel_pulls = 1
max_pulls = 3
[grpc]
max_event_streams = 3
[container]
max_execs = 8
max_execs_per_container = 5
max_attach_clients = 3
[streaming]
max_streams = 6
token_limit = 20
`;

/** How each of the calls ended, by the name of its code. */
async function outcomes(calls: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const outcome of await Promise.allSettled(calls)) {
    const name = outcome.status === 'fulfilled' ? 'OK' : (status[(outcome.reason as CriCallError).code] ?? 'unknown');
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Asks for an upgrade and says nothing more. Resolves with the HTTP status. */
function upgrade(url: string, open: ClientRequest[]): Promise<number> {
  const call = request(url, { method: 'POST', headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': 'v4.channel.k8s.io' } });
  open.push(call);
  call.end();
  return new Promise((resolve) => {
    call.once('error', () => resolve(0));
    call.once('response', (response) => resolve(response.resume().statusCode ?? 0));
    call.once('upgrade', (response, socket) => {
      socket.on('error', () => undefined).resume();
      resolve(response.statusCode ?? 0);
    });
  });
}

await onEachEngine(
  'floods: one too many is told so, others are served, and the pods stay up',
  async (t, node) => {
    const { runtime, image } = node.cri;
    const pod = await TestPod.run(node);
    const [flooded, quiet] = [await pod.start(), await pod.start()];
    /** What must go on meanwhile. */
    const served = async (what: string) => {
      const began = Date.now();
      await Promise.all([runtime.version({}, CALL), runtime.listContainers({}, CALL), runtime.podSandboxStatus({ podSandboxId: pod.id }, CALL)]);
      t.match(await quiet.exec(['echo', 'here']), { exitCode: 0, stdout: 'here\n' }, `${what}: a command in the other container, after ${Date.now() - began} ms`);
    };
    const exec = (seconds: number) => runtime.execSync({ containerId: flooded.id, cmd: ['sleep', `${seconds}`], timeout: 60n }, CALL);

    await t.test('ExecSync in one container', async (t) => {
      const flood = Array.from({ length: 60 }, () => exec(4));
      flood.forEach((call) => call.catch(() => undefined));
      await served('commands');
      const { OK = 0, RESOURCE_EXHAUSTED = 0, ...other } = await outcomes(flood);
      t.equal(OK, 5);
      t.equal(RESOURCE_EXHAUSTED, 55);
      t.same(other, {});
      await eventually(async () => t.match(await exec(0), { exitCode: 0 }), 20_000);
    });

    await t.test('Exec, Attach and their streams', async (t) => {
      const open: ClientRequest[] = [];
      const urls = await Promise.allSettled(Array.from({ length: 60 }, () => runtime.exec({ containerId: flooded.id, cmd: ['sleep', '1'], stdout: true }, CALL)));
      const given = urls.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.url] : []));
      t.equal(given.length, 20, 'URLs that wait');
      t.ok(urls.every((outcome) => outcome.status === 'fulfilled' || (outcome.reason as CriCallError).code === status.RESOURCE_EXHAUSTED));
      const statuses = await Promise.all(given.map((url) => upgrade(url, open)));
      t.equal(statuses.filter((code) => code === 101).length, 6);
      t.equal(statuses.filter((code) => code === 503).length, 14);
      await t.rejects(runtime.attach({ containerId: flooded.id, stdout: true }, CALL), { code: status.RESOURCE_EXHAUSTED, details: /streaming\.max_streams/ });
      await served('streams');
      for (const call of open) call.destroy();
    });

    await t.test('pulls, readers of events, a request that is too large', async (t) => {
      const pulls = await outcomes(Array.from({ length: 30 }, () => image.pullImage({ image: { image: BUSYBOX } }, CALL)));
      t.ok((pulls.OK ?? 0) >= 3, `${pulls.OK} pulls succeeded`);
      t.ok((pulls.RESOURCE_EXHAUSTED ?? 0) > 0, `${pulls.RESOURCE_EXHAUSTED} were refused`);
      t.equal((pulls.OK ?? 0) + (pulls.RESOURCE_EXHAUSTED ?? 0), 30);
      const stop = new AbortController();
      const readers = Array.from({ length: 10 }, () => runtime.getContainerEvents({}, { signal: stop.signal })[Symbol.asyncIterator]().next());
      const ended = outcomes(readers);
      await pause(500);
      stop.abort();
      t.match(await ended, { RESOURCE_EXHAUSTED: 7 });
      const large = TestPod.config(node, { annotations: { large: 'x'.repeat(17 * 1024 * 1024) } });
      await t.rejects(runtime.runPodSandbox({ config: large }, CALL), { code: status.RESOURCE_EXHAUSTED });
      await served('the rest');
    });

    for (const container of [flooded, quiet]) t.match(await container.status(), { state: ContainerState.CONTAINER_RUNNING });
    t.match((await runtime.podSandboxStatus({ podSandboxId: pod.id }, CALL)).status, { state: 0 });
    t.comment('covered: floods of execs, streams, URLs, pulls, readers of events and large requests');
    await pod.remove();
  },
  { only: 'criquet', engines: 'newest', extraConfig: LIMITS },
);
