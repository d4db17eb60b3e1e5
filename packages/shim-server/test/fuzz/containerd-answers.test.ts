import { status } from '@grpc/grpc-js';
import * as fc from 'fast-check';
import { test } from 'tap';
import { IMAGE } from '../component/shim-harness.js';
import { altered, alterations, type Alteration } from './altered-answer.js';
import { FuzzedNode } from './fuzzed-node.js';
import { fuzzing, REQUESTS, REQUESTS_IN_CI } from './parameters.js';

/** What containerd is asked for while a pod lives. Mounts are left out: criquet carries them out, and the root of this machine is no plaything. */
const CALLS = [
  'containers.get', 'containers.create', 'containers.update', 'tasks.create', 'tasks.start', 'tasks.get', 'tasks.exec', 'tasks.kill', 'tasks.wait',
  'tasks.delete', 'tasks.deleteProcess', 'tasks.update', 'images.get', 'content.info', 'snapshots.stat', 'leases.create', 'version.version',
  'images.create', 'images.update', 'snapshots.usage', 'introspection.plugins',
] as const;
/** A task whose state containerd does not know is waited for, up to ten seconds at a time. */
const ALTERED = REQUESTS > REQUESTS_IN_CI ? CALLS : CALLS.filter((call) => call !== 'tasks.get');
const CODES = Object.values(status).filter((code): code is status => typeof code === 'number' && code !== status.OK);

type Trouble =
  | { readonly kind: 'altered'; readonly call: string; readonly changes: readonly Alteration[] }
  | { readonly kind: 'failed'; readonly call: string; readonly code: status; readonly times: number; readonly skip: number; readonly afterwards: boolean }
  | { readonly kind: 'late'; readonly call: string };

const troubles: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('altered' as const), call: fc.constantFrom(...ALTERED), changes: fc.array(alterations, { minLength: 1, maxLength: 3 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('failed' as const), call: fc.constantFrom(...CALLS), code: fc.constantFrom(...CODES), times: fc.integer({ min: 1, max: 3 }), skip: fc.nat(2), afterwards: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('late' as const), call: fc.constantFrom(...CALLS) }) },
);

/** Errors of the language's own: they say nothing to a caller, and that something was taken for granted. */
const OVERSIGHT = /Cannot (?:read|set|convert|mix|destructure)|is not (?:a function|iterable|defined|an object)|undefined|Invalid (?:array|string) length|BigInt|Maximum call stack|Unexpected token|\bat \S+:\d+/;

test('whatever containerd answers: no call hangs or stumbles, and when it answers well again everything can be removed', { timeout: 3_600_000 }, async (t) => {
  const node = await FuzzedNode.start(false);
  t.teardown(() => node.close());
  const oversights = new Map<string, string>();
  const { shim } = node;
  const { control } = shim.containerd;
  const timeoutMs = 60_000;
  let troubled = '';
  const attempt = async <T>(name: string, work: () => Promise<T>): Promise<T | undefined> => {
    const began = performance.now();
    try {
      return await work();
    } catch (error) {
      const { code, details = String(error) } = error as { code?: status; details?: string };
      if (OVERSIGHT.test(details)) oversights.set(`${name} ${details.slice(0, 60)}`, `${name}: ${code === undefined ? '' : status[code]} ${details.slice(0, 300)}`);
      // containerd may say so as well.
      if (performance.now() - began >= timeoutMs - 100) oversights.set(`${name} hung`, `${name} hung, with ${troubled}`);
      return undefined;
    }
  };
  const life = async (list: readonly Trouble[]) => {
    troubled = list.map(({ kind, call }) => `${call} ${kind}`).join(', ');
    const calm = list.map((trouble) => begin(trouble));
    const { runtime, image } = shim.cri;
    await attempt('PullImage', () => image.pullImage({ image: { image: IMAGE } }, { timeoutMs }));
    const podSandboxId = (await attempt('RunPodSandbox', () => runtime.runPodSandbox({ config: shim.sandboxConfig() }, { timeoutMs })))?.podSandboxId ?? 'none';
    const request = { podSandboxId, config: shim.containerConfig(), sandboxConfig: shim.sandboxConfig() };
    const containerId = (await attempt('CreateContainer', () => runtime.createContainer(request, { timeoutMs })))?.containerId ?? 'none';
    await attempt('StartContainer', () => runtime.startContainer({ containerId }, { timeoutMs }));
    await Promise.all([
      attempt('ExecSync', () => runtime.execSync({ containerId, cmd: ['x'], timeout: 10n }, { timeoutMs })),
      attempt('UpdateContainerResources', () => runtime.updateContainerResources({ containerId, linux: { cpuShares: 100n } }, { timeoutMs })),
      attempt('ContainerStatus', () => runtime.containerStatus({ containerId, verbose: true }, { timeoutMs })),
      attempt('PodSandboxStatus', () => runtime.podSandboxStatus({ podSandboxId, verbose: true }, { timeoutMs })),
      attempt('ListContainerStats', () => runtime.listContainerStats({}, { timeoutMs })),
      attempt('ListPodSandboxStats', () => runtime.listPodSandboxStats({}, { timeoutMs })),
      attempt('ListImages', () => image.listImages({}, { timeoutMs })),
      attempt('ImageStatus', () => image.imageStatus({ image: { image: IMAGE }, verbose: true }, { timeoutMs })),
      attempt('ImageFsInfo', () => image.imageFsInfo({}, { timeoutMs })),
      attempt('Status', () => runtime.status({ verbose: true }, { timeoutMs })),
    ]);
    await attempt('StopContainer', () => runtime.stopContainer({ containerId, timeout: 1n }, { timeoutMs }));
    await attempt('StopPodSandbox', () => runtime.stopPodSandbox({ podSandboxId }, { timeoutMs }));
    await attempt('RemoveContainer', () => runtime.removeContainer({ containerId }, { timeoutMs }));
    for (const end of calm) end();
    await node.clear();
  };
  const begin = (trouble: Trouble): (() => void) => {
    switch (trouble.kind) {
      case 'altered':
        return control.alter(trouble.call, (answer) => altered(answer, trouble.changes));
      case 'failed':
        return control.fail(trouble.call, { ...trouble, details: 'trouble' });
      case 'late':
        return control.delay(trouble.call, 100);
    }
  };
  await fc.assert(fc.asyncProperty(fc.array(troubles, { minLength: 1, maxLength: 4 }), life), fuzzing(20));
  t.same([...oversights.values()], []);
});
