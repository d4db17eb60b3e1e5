import { access, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, credentials, status, type MethodDefinition, type ServiceError } from '@grpc/grpc-js';
import * as cri from '@criquet/cri-api';
import { attaching, failedWith, type FakePlugin } from '@criquet/network-cni/testing';
import type { FakeProcess } from '@criquet/runtime-containerd/testing';
import { eventually, IMAGE, NAMESPACE, Shim } from '../component/shim-harness.js';
import type { FuzzCall } from './cri-calls.js';
import { ESCAPE } from './hostile.js';
import { encodeFields } from './wire-message.js';

/** What an answered call came to. */
export interface Answer {
  readonly code: status;
  readonly details: string;
}

/** A call that is not answered within this has hung: nothing here takes longer than a second on an idle machine. */
const HUNG_MS = 30_000;
/** Events come for ever. */
const EVENTS_MS = 30;
const METHODS = new Map(
  [...Object.values(cri.RuntimeServiceService), ...Object.values(cri.ImageServiceService)].map((method): [string, MethodDefinition<object, object>] => [
    method.path,
    method as unknown as MethodDefinition<object, object>,
  ]),
);

/** criquet on fakes, a client that sends what it likes, and what both leave. */
export class FuzzedNode {
  private readonly names = new Map<string, number>();
  private readonly client: Client;
  private pods: string[] = [];
  private containers: string[] = [];
  private created = 0;

  private constructor(readonly shim: Shim) {
    this.client = this.connect();
  }

  /** @param refusals whether the network refuses a pod now and then */
  static async start(refusals = true): Promise<FuzzedNode> {
    let additions = 0;
    const address = attaching('10.1.0.7/24');
    const net: FakePlugin = (call) => (refusals && call.command === 'ADD' && ++additions % 17 === 0 ? failedWith(11, 'try again later') : address(call));
    const shim = await Shim.start({ plugins: { net } });
    await mkdir(join(shim.dir, 'named'));
    await mkdir(join(shim.containerd.dir, 'root/io.containerd.snapshotter.v1.overlayfs'), { recursive: true });
    shim.containerd.program = (process) => run(process);
    return new FuzzedNode(shim);
  }

  async close(): Promise<void> {
    this.client.close();
    await this.shim.close();
  }

  /** Two pods with a running container each, for calls to work on. */
  async populate(): Promise<void> {
    await Promise.all(
      [0, 1].map(async (index) => {
        const pod = await this.shim.runPod({ metadata: { name: `there-${index}`, namespace: 'ns', uid: `there-${index}`, attempt: 0 } }).catch(() => undefined);
        if (pod === undefined) return;
        this.pods.push(pod);
        this.containers.push(await this.shim.startContainer(pod));
      }),
    );
  }

  /** Sends a call. @returns what is wrong when it hangs, or is answered as no call may be */
  async call(call: FuzzCall): Promise<string | undefined> {
    const answer = await this.send(call);
    this.names.set(`${call.name} ${status[answer.code]}`, (this.names.get(`${call.name} ${status[answer.code]}`) ?? 0) + 1);
    const fault = faultOf(call, answer);
    return fault === undefined ? undefined : `${call.name}: ${fault}: ${status[answer.code]} ${answer.details.slice(0, 500)}`;
  }

  /** Removes every pod as the kubelet does. @throws Error saying what is left */
  async clear(): Promise<void> {
    const { runtime } = this.shim.cri;
    const remove = async (podSandboxId: string) => {
      await runtime.stopPodSandbox({ podSandboxId });
      await runtime.removePodSandbox({ podSandboxId });
    };
    await eventually(async () => {
      // A creation whose caller has left comes to its end later than others.
      await Promise.all((await runtime.listPodSandbox({})).items.map(({ id }) => remove(id)));
      for (const { id } of (await runtime.listContainers({})).containers) await runtime.removeContainer({ containerId: id });
      const left = [...(await this.shim.leftovers()), ...(await this.ioDirectories())];
      if (left.length > 0) throw new Error(`left: ${left.join(', ')}`);
    }, 20_000);
    if (await exists(`/${ESCAPE}`)) throw new Error(`something made /${ESCAPE}`);
    this.pods = [];
    this.containers = [];
    this.forget();
  }

  /** Descriptors of this process, where nothing of a pod is there. */
  async openDescriptors(): Promise<number> {
    return (await readdir('/proc/self/fd')).length;
  }

  /** The daemon stops and another one takes over. */
  async restart(): Promise<void> {
    await this.shim.restart();
  }

  /** How often each call was answered with each code. */
  tally(): Map<string, number> {
    return this.names;
  }

  /** What the daemon said that no caller's fault explains. */
  complaints(): string[] {
    return this.shim.logLines.filter((line) => line.includes('"level":60') || line.includes('undo failed'));
  }

  private connect(): Client {
    return new Client(this.shim.config.listen, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1, 'grpc.default_authority': 'localhost' });
  }

  private send(call: FuzzCall): Promise<Answer> {
    const bytes = this.bytesOf(call);
    const method = METHODS.get(call.path);
    const options = { deadline: Date.now() + (call.leavesAfter ?? HUNG_MS) };
    const plain = (value: Buffer) => value;
    return new Promise((resolve) => {
      const answer = (error: ServiceError | null) => resolve(error === null ? { code: status.OK, details: '' } : { code: error.code, details: error.details });
      if (!call.streams) {
        this.client.makeUnaryRequest(call.path, plain, plain, bytes, options, (error, reply) => {
          if (error === null && reply !== undefined) this.learn(method?.responseDeserialize(reply) as Record<string, unknown> | undefined);
          answer(error);
        });
        return;
      }
      const stream = this.client.makeServerStreamRequest(call.path, plain, plain, bytes, options);
      if (call.name === 'GetContainerEvents') setTimeout(() => stream.cancel(), EVENTS_MS);
      stream.on('data', (reply: Buffer) => void method?.responseDeserialize(reply)).on('end', () => answer(null)).on('error', (error: ServiceError) => answer(error));
    });
  }

  /** A good request, and behind it the hostile fields: of a field that comes twice the later one counts, and lists and maps are joined. */
  private bytesOf({ name, path, good, fields, tail }: FuzzCall): Buffer {
    const ids = [...this.pods, ...this.containers];
    const hostile = encodeFields(fields, { ids, directory: join(this.shim.dir, 'named') });
    const method = METHODS.get(path);
    const begin = good && method !== undefined ? method.requestSerialize(this.goodRequest(name)) : Buffer.alloc(0);
    return Buffer.concat([begin, hostile, tail]);
  }

  private goodRequest(name: string): object {
    const number = this.created++;
    const pick = (ids: readonly string[]) => ids[number % Math.max(1, ids.length)] ?? '';
    const [podSandboxId, containerId] = [pick(this.pods), pick(this.containers)];
    const metadata = { name: `pod-${number}`, namespace: 'ns', uid: `uid-${number}`, attempt: 0 };
    const sandboxConfig = this.shim.sandboxConfig({ metadata });
    const config = this.shim.containerConfig({ metadata: { name: `app-${number}`, attempt: 0 }, logPath: `app/${number}.log` });
    switch (name) {
      case 'RunPodSandbox':
        return complete(name, { config: sandboxConfig });
      case 'CreateContainer':
        return complete(name, { podSandboxId, config, sandboxConfig });
      case 'Exec':
      case 'ExecSync':
        return complete(name, { containerId, cmd: ['x'], stdout: true, timeout: 5n });
      case 'Attach':
        return complete(name, { containerId, stdout: true });
      case 'PortForward':
        return complete(name, { podSandboxId, port: [80] });
      case 'CheckpointContainer':
        return complete(name, { containerId, location: join(this.shim.dir, 'named', `${number}.tar`), timeout: 5n });
      case 'CheckpointPod':
        return complete(name, { podSandboxId, outputPath: join(this.shim.dir, 'named', `pod-${number}`) });
      case 'PullImage':
      case 'ImageStatus':
      case 'RemoveImage':
        return complete(name, { image: { image: IMAGE } });
      default:
        return complete(name, { podSandboxId, containerId });
    }
  }

  /** New objects are what other calls name. */
  private learn(reply: Record<string, unknown> | undefined): void {
    const { podSandboxId, containerId } = reply ?? {};
    if (typeof podSandboxId === 'string' && podSandboxId !== '') this.pods.push(podSandboxId);
    if (typeof containerId === 'string' && containerId !== '') this.containers.push(containerId);
  }

  private async ioDirectories(): Promise<string[]> {
    return (await readdir(join(this.shim.config.stateDir, 'io')).catch(() => [])).map((name) => `FIFOs of ${name}`);
  }

  /** The fakes keep what happened; a long run would keep all of it. */
  private forget(): void {
    this.shim.containerd.control.calls.length = 0;
    this.shim.plugins.calls.length = 0;
    this.shim.logLines.length = 0;
    this.shim.failpoints.reached.length = 0;
    if (!this.shim.containerd.state(NAMESPACE).images.has(IMAGE)) this.shim.containerd.addImage(NAMESPACE, IMAGE, this.shim.image);
    this.shim.containerd.registry.set(IMAGE, { image: this.shim.image });
  }
}

function run(process: FakeProcess): void | Promise<void> {
  if (process.execId === '') return;
  return process.stdout('out').then(() => process.exit(0));
}

function faultOf({ leavesAfter, name }: FuzzCall, { code, details }: Answer): string | undefined {
  if (/\n\s+at |node:internal|\.js:\d+/.test(details)) return 'a stack';
  switch (code) {
    case status.DEADLINE_EXCEEDED:
      return leavesAfter === undefined && !details.includes('did not end within') ? 'it hung' : undefined;
    case status.CANCELLED:
      return leavesAfter === undefined && name !== 'GetContainerEvents' ? 'nobody cancelled it' : undefined;
    case status.INTERNAL:
      // gRPC's own word for bytes that are no message.
      return details === 'Error deserializing request' ? undefined : 'an internal error';
    case status.UNKNOWN:
    case status.DATA_LOSS:
    case status.UNAVAILABLE:
      return details.includes('try again later') ? undefined : 'not a caller\'s error';
    default:
      return undefined;
  }
}

/** The fields that a caller left out. */
function complete(name: string, request: object): object {
  const types = cri as unknown as Record<string, { fromPartial?: (request: object) => object } | undefined>;
  return (types[`${name}Request`] ?? cri.GetEventsRequest).fromPartial?.(request) ?? request;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}
