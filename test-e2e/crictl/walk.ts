import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { eventually } from '../harness/eventually.js';
import { BUSYBOX } from '../harness/pods.js';
import { tryRun, type RunResult } from '../harness/run.js';
import { Comparison, parseFields, type JsonOptions } from './comparison.js';
import { KNOWN_DIFFERENCES } from './known-differences.js';
import type { Side } from './side.js';
import { file, page, writeFiles } from './walk-objects.js';

const NGINX = 'registry.k8s.io/e2e-test-images/nginx:1.14-2';

/** What stats and metrics measure. */
const FIGURES = /(usageNanoCores|usageCoreNanoSeconds|[bB]ytes|[fF]aults|inodesUsed|inodes|Total|Avg\d+|[pP]ackets|Errors|value)(\.value)?$/;

/** How what `inspect` shows is compared: Go leaves out empty members of `info`; a process has a number of its own. */
const INSPECTED: JsonOptions = { omitEmpty: /^info\./, figures: /^info\.pid$/ };

type Both<T> = readonly [criquet: T, containerd: T];

/** A walk through all subcommands, on both sides at once. */
export class Walk {
  private readonly comparison: Comparison;
  private readonly ran = new Set<string>();

  constructor(
    private readonly t: Test,
    private readonly criquet: Side,
    private readonly containerd: Side,
  ) {
    this.comparison = new Comparison(criquet, containerd, KNOWN_DIFFERENCES);
  }

  async all(): Promise<void> {
    await this.step('about the runtime', () => this.aboutTheRuntime());
    await this.step('images', () => this.images());
    const events = [this.criquet, this.containerd].map((side) => side.crictl.start(['events']));
    this.ran.add('events');
    // A client's stream is there some time after the client.
    await pause(500);
    await this.step('pod and container', () => this.podAndContainer());
    await this.step('exec, attach, port-forward', () => this.streams());
    await this.step('stats and metrics', () => this.stats());
    await this.step('update, checkpoint', () => this.changes());
    await this.step('ends', () => this.ends());
    await this.step('unknown names', () => this.unknownNames());
    await this.step('events', async () => {
      const told = await Promise.all(
        events.map(async (session) => {
          session.child.kill('SIGINT');
          return eventsById(await session.stdout);
        }),
      );
      this.comparison.json('events', told[0], told[1]);
    });
    const help = await this.criquet.crictl.run('--help');
    const subcommands = [...(/^COMMANDS:\n([\s\S]*?)\n\n/m.exec(help)?.[1] ?? '').matchAll(/^ {3}([\w-]+)/gm)].map(([, name = '']) => name);
    this.t.ok(subcommands.length > 30, `${subcommands.length} subcommands`);
    this.t.strictSame(subcommands.filter((name) => name !== 'help' && !this.ran.has(name)), [], 'every subcommand ran');
    this.t.strictSame(this.comparison.unused(), [], 'every known difference occurred');
  }

  /** A step asserts that no difference came up that is not known. */
  private async step(name: string, act: () => Promise<void>): Promise<void> {
    await this.t.test(name, async (t) => {
      const known = this.comparison.differences.length;
      await act();
      const unknown = this.comparison.differences.slice(known);
      for (const { command, at, criquet, containerd } of unknown) t.fail(`${command}, ${at}: criquet ${criquet}, containerd ${containerd}`);
      t.equal(unknown.length, 0, 'no difference that is not known');
    });
  }

  // ---- one command on both

  private async both(args: (side: Side) => readonly string[]): Promise<Both<RunResult>> {
    this.ran.add(args(this.criquet)[0] ?? '');
    const [own, theirs] = await Promise.all([this.criquet.crictl.attempt(args(this.criquet)), this.containerd.crictl.attempt(args(this.containerd))]);
    return [own, theirs];
  }

  private async output(args: (side: Side) => readonly string[]): Promise<Both<string>> {
    const results = await this.both(args);
    for (const { code, stderr } of results) if (code !== 0) throw new Error(`crictl ${args(this.criquet).join(' ')}: ${stderr}`);
    return [results[0].stdout.trim(), results[1].stdout.trim()];
  }

  private async text(command: string, args: (side: Side) => readonly string[]): Promise<void> {
    this.comparison.text(command, ...(await this.output(args)));
  }

  private async table(command: string, args: (side: Side) => readonly string[], figures: readonly string[] = []): Promise<void> {
    this.comparison.table(command, ...(await this.output(args)), figures);
  }

  private async json(command: string, args: (side: Side) => readonly string[], options?: JsonOptions): Promise<Both<unknown>> {
    const [own, theirs] = await this.output(args);
    const parsed: Both<unknown> = [JSON.parse(own), JSON.parse(theirs)];
    this.comparison.json(command, ...parsed, options);
    return parsed;
  }

  /** A command that makes something: what it prints is the new id, which is `name` from here on. */
  private async making(name: string, args: (side: Side) => readonly string[]): Promise<Both<string>> {
    const ids = await this.output(args);
    for (const id of ids) this.t.match(id, /^[0-9a-f]{64}$/, `crictl ${args(this.criquet)[0] ?? ''} prints an id`);
    this.criquet.name(ids[0], name);
    this.containerd.name(ids[1], name);
    return ids;
  }

  /** One of two ids, by the side. */
  private of(side: Side, ids: Both<string>): string {
    return side === this.criquet ? ids[0] : ids[1];
  }

  // ---- steps

  private async aboutTheRuntime(): Promise<void> {
    const version = await this.output(() => ['version']);
    this.comparison.json('version', ...(version.map(parseFields) as unknown as Both<unknown>));
    await this.json('info', () => ['info'], { omitEmpty: /^/ });
    await this.text('runtime-config', () => ['runtime-config']);
    await this.text('update-runtime-config', () => ['update-runtime-config', '--pod-cidr', '10.99.0.0/24']);
    await this.text('completion', () => ['completion', 'bash']);
    for (const side of [this.criquet, this.containerd]) side.name(side.node.endpoint, '<endpoint>');
    await this.table('config', () => ['config', '--list']);
  }

  private async images(): Promise<void> {
    await this.text('pull', () => ['pull', BUSYBOX]);
    await this.text('pull', () => ['pull', NGINX]);
    await this.table('images', () => ['images']);
    await this.table('images', () => ['images', '--digests', '--no-trunc']);
    await this.json('images', () => ['images', '-o', 'json']);
    await this.json('inspecti', () => ['inspecti', BUSYBOX], INSPECTED);
    await this.json('inspecti', () => ['inspecti', '-q', NGINX]);
    await eventually(async () => {
      const { 0: own, 1: theirs } = await this.output(() => ['imagefsinfo']);
      if ([own, theirs].some((fs) => /"usedBytes":\s+\{\s*"value":\s+"0"/.test(fs))) throw new Error('not measured yet');
    }, 15_000, 500);
    await this.json('imagefsinfo', () => ['imagefsinfo'], { figures: FIGURES });
  }

  private pod: Both<string> = ['', ''];
  private container: Both<string> = ['', ''];

  private async podAndContainer(): Promise<void> {
    await Promise.all([this.criquet, this.containerd].map(writeFiles));
    this.pod = await this.making('<pod>', (side) => ['runp', file(side, 'pod')]);
    this.container = await this.making('<main>', (side) => ['create', this.of(side, this.pod), file(side, 'main'), file(side, 'pod')]);
    await this.table('ps', () => ['ps', '-a']);
    await this.json('inspect', (side) => ['inspect', this.of(side, this.container)], INSPECTED);
    await this.text('start', (side) => ['start', this.of(side, this.container)]);
    await this.table('pods', () => ['pods']);
    await this.json('pods', () => ['pods', '-o', 'json']);
    await this.text('pods', () => ['pods', '-v', '--no-trunc']);
    await this.table('ps', () => ['ps']);
    await this.json('ps', () => ['ps', '-o', 'json']);
    await this.text('ps', () => ['ps', '-v', '--no-trunc']);
    await this.json('inspect', (side) => ['inspect', this.of(side, this.container)], INSPECTED);
    await this.json('inspectp', (side) => ['inspectp', this.of(side, this.pod)], INSPECTED);
    const logs = (...options: string[]) => (side: Side) => ['logs', ...options, this.of(side, this.container)];
    await eventually(async () => {
      for (const output of await this.output(logs())) if (!output.includes('to stdout')) throw new Error('no output yet');
    });
    await this.text('logs', logs());
    await this.text('logs', logs('--timestamps', '--stream', 'stdout'));
    await this.text('logs', logs('--reopen'));
  }

  private async streams(): Promise<void> {
    const exec = (options: string[], ...command: string[]) => (side: Side) => ['exec', ...options, this.of(side, this.container), ...command];
    for (const options of [['-s'], [], ['-r', 'spdy']]) {
      await this.text('exec', exec(options, 'hostname'));
      const failures = await this.both(exec(options, 'sh', '-c', 'echo out; echo err >&2; exit 7'));
      this.comparison.json('exec', ...(failures.map(({ code, stdout, stderr }) => ({ code, stdout, said: /\b(exit code|exited with) (\d+)/.exec(stderr)?.[0] })) as unknown as Both<unknown>));
    }
    // crictl speaks v5 only over WebSocket, which containerd's streaming server does not.
    const refused = await this.both(exec(['-r', 'websocket'], 'hostname'));
    this.t.strictSame(refused.map(({ code }) => code), [0, 1], "exec over WebSocket: containerd's plugin refuses version 5");
    this.t.match(refused[1].stderr, /403 Forbidden/);
    for (const [side, accepted] of [[this.criquet, true], [this.containerd, false]] as const) {
      const command = [side.crictl.program, '--config', side.crictl.configFile, ...exec(['-r', 'websocket', '-it'], 'sh', '-c', "'stty size; tty'")(side)];
      // `script` gives crictl the terminal that -t asks for; at the end of its own input it types an end of file, which in raw mode is a NUL that the terminal shows.
      const { stdout } = await tryRun('script', ['-qec', `stty rows 33 cols 99; ${command.join(' ')}`, '/dev/null'], { timeoutMs: 20_000 });
      if (accepted) this.t.match(stdout, /33 99\r\n(\^@)?\/dev\/pts\/0/, 'S4: crictl exec -r websocket -it');
      else this.t.match(stdout, /403 Forbidden/);
    }

    const echo = await this.making('<echo>', (side) => ['create', this.of(side, this.pod), file(side, 'echo'), file(side, 'pod')]);
    await this.text('start', (side) => ['start', this.of(side, echo)]);
    this.ran.add('attach');
    const attached = await Promise.all([this.criquet, this.containerd].map((side) => side.crictl.withInput(['attach', '-i', this.of(side, echo)], 'one\ntwo\n')));
    this.comparison.json('attach', ...(attached as unknown as Both<unknown>));

    const web = await this.making('<web>', (side) => ['create', this.of(side, this.pod), file(side, 'web'), file(side, 'pod')]);
    await this.text('start', (side) => ['start', this.of(side, web)]);
    this.ran.add('port-forward');
    this.comparison.text('port-forward', ...(await both(this.criquet, this.containerd, (side) => eventually(() => page(side, this.of(side, this.pod))))));
  }

  private async stats(): Promise<void> {
    const measured = (side: Side) => ['stats', '-o', 'json', '--id', this.of(side, this.container)];
    const pods = (side: Side) => ['statsp', '-o', 'json', '--id', this.of(side, this.pod)];
    await eventually(async () => {
      for (const output of await this.output(measured)) {
        const [container] = (JSON.parse(output) as { stats: Measured[] }).stats;
        if ((container?.cpu.usageNanoCores?.value ?? '0') === '0' || container?.writableLayer.usedBytes.value === '0') throw new Error('not measured yet');
      }
      // The plugin of 2.1 never tells a pod's rate.
      const [pod] = (JSON.parse((await this.output(pods))[0]) as { stats: { linux: Pick<Measured, 'cpu'> }[] }).stats;
      if ((pod?.linux.cpu.usageNanoCores?.value ?? '0') === '0') throw new Error('not measured yet');
    }, 30_000, 1_000);
    const figures = { figures: FIGURES };
    await this.json('stats', measured, figures);
    await this.table('stats', (side) => ['stats', '--id', this.of(side, this.container)], ['CPU %', 'MEM', 'DISK', 'INODES', 'SWAP']);
    await this.json('statsp', pods, figures);
    await this.table('statsp', () => ['statsp'], ['CPU %', 'MEM']);
    await this.metrics('metricdescs', (reply) => names(reply, 'descriptors'));
    await eventually(async () => {
      const { stdout } = await this.criquet.crictl.attempt(['metricsp']);
      if (!stdout.includes('container_cpu_usage_seconds_total')) throw new Error('no metrics yet');
    }, 15_000, 500);
    await this.metrics('metricsp', metricKinds);
  }

  /** containerd 2.1's plugin does not have these calls. */
  private async metrics(command: string, shown: (reply: unknown) => unknown): Promise<void> {
    const [own, theirs] = await this.both(() => [command]);
    this.t.equal(own.code, 0, `${command} on criquet`);
    if (theirs.code === 0) this.comparison.json(command, shown(JSON.parse(own.stdout)), shown(JSON.parse(theirs.stdout)));
    else this.t.match(theirs.stderr, /code = Unimplemented/, `${command} is no call of this plugin`);
  }

  private async changes(): Promise<void> {
    await this.text('update', (side) => ['update', '--memory', '33554432', '--cpu-quota', '20000', this.of(side, this.container)]);
    await this.json('inspect updated', (side) => ['inspect', this.of(side, this.container)], INSPECTED);
    const limits = '/sys/fs/cgroup/cpu.max /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/memory/memory.limit_in_bytes';
    await this.text('exec', (side) => ['exec', '-s', this.of(side, this.container), 'sh', '-c', `cat ${limits} 2>/dev/null; true`]);
    const refused = await this.both((side) => ['update', '--cpuset-cpus', '4000', this.of(side, this.container)]);
    this.t.ok(refused.every(({ code }) => code !== 0), 'update: a CPU that is not there');

    const archive = (side: Side) => join(side.node.directory, 'checkpoint.tar');
    const checkpoints = await this.both((side) => ['checkpoint', '--export', archive(side), this.of(side, this.container)]);
    this.comparison.json('checkpoint', ...(checkpoints.map(({ code }) => ({ code })) as unknown as Both<unknown>));
    for (const [index, side] of [this.criquet, this.containerd].entries()) {
      if (checkpoints[index]?.code === 0) this.t.ok((await stat(archive(side))).size > 0, 'checkpoint: an archive');
    }
  }

  private async ends(): Promise<void> {
    await this.text('stop', (side) => ['stop', '--timeout', '1', this.of(side, this.container)]);
    await this.table('ps', () => ['ps', '-a']);
    await this.json('inspect', (side) => ['inspect', this.of(side, this.container)], INSPECTED);
    await this.text('rm', (side) => ['rm', this.of(side, this.container)]);
    const running = await this.both((side) => ['rmp', this.of(side, this.pod)]);
    this.comparison.json('rmp', ...(running.map(({ code, stderr }) => ({ code, said: /is running, please stop it first/.exec(stderr)?.[0] })) as unknown as Both<unknown>));
    await this.text('stopp', (side) => ['stopp', this.of(side, this.pod)]);
    await this.table('pods', () => ['pods']);
    await this.json('inspectp stopped', (side) => ['inspectp', this.of(side, this.pod)], INSPECTED);
    await this.text('rmp', (side) => ['rmp', this.of(side, this.pod)]);
    await this.making('<run>', (side) => ['run', file(side, 'main'), file(side, 'other-pod')]);
    const pods = await this.output(() => ['pods', '--quiet', '--no-trunc']);
    this.criquet.name(pods[0], '<other pod>');
    this.containerd.name(pods[1], '<other pod>');
    await this.table('ps', () => ['ps', '-a']);
    const removed = await this.output(() => ['rmp', '--force', '--all']);
    this.comparison.text('rmp', ...(removed.map((output) => output.replace(/[0-9a-f]{64}/g, '<id>')) as unknown as Both<string>));
    await this.table('pods', () => ['pods']);
    await this.text('rmi', () => ['rmi', BUSYBOX]);
    await this.text('rmi', () => ['rmi', '--prune']);
    await this.table('images after prune', () => ['images']);
  }

  /** The exit code and the gRPC code that crictl shows. */
  private async unknownNames(): Promise<void> {
    for (const command of ['inspect', 'inspectp', 'inspecti', 'start', 'stop', 'stopp', 'rm', 'rmp', 'rmi', 'logs', 'update', 'attach', 'port-forward', 'checkpoint', 'exec', 'exec -s']) {
      const [name = '', ...options] = command.split(' ');
      const rest: Readonly<Record<string, readonly string[]>> = {
        exec: ['ls'],
        'port-forward': ['0:80'],
        inspecti: [],
        update: [],
      };
      const unknown = name === 'inspecti' || name === 'rmi' ? 'unknown:1' : 'unknown';
      const results = await this.both(() => [name, ...options, ...(name === 'update' ? ['--memory', '33554432'] : []), unknown, ...(rest[name] ?? [])]);
      this.comparison.json(`${name} unknown`, ...(results.map(({ code, stderr }) => ({ code, grpc: /code = (\w+)/.exec(stderr)?.[1] })) as unknown as Both<unknown>));
    }
    const missing = await this.both(() => ['pull', 'registry.k8s.io/nowhere:1']);
    this.comparison.json('pull unknown', ...(missing.map(({ code, stderr }) => ({ code, grpc: /code = (\w+)/.exec(stderr)?.[1] })) as unknown as Both<unknown>));
  }
}

async function both<T>(criquet: Side, containerd: Side, act: (side: Side) => Promise<T>): Promise<Both<T>> {
  const [own, theirs] = await Promise.all([act(criquet), act(containerd)]);
  return [own, theirs];
}

interface Measured {
  readonly cpu: { readonly usageNanoCores: { readonly value: string } | null };
  readonly writableLayer: { readonly usedBytes: { readonly value: string } };
}

/** The names of what a list holds. */
function names(value: unknown, list: string): Record<string, boolean> {
  return Object.fromEntries((value as Record<string, { name: string }[]>)[list]?.map(({ name }) => [name, true]) ?? []);
}

/** The metrics of each pod and container: name, type and how many values. */
function metricKinds(value: unknown): unknown {
  type Metric = { name: string; metricType: string };
  const { podMetrics } = value as { podMetrics: { metrics: Metric[]; containerMetrics: { metrics: Metric[] }[] }[] };
  const kinds = (metrics: readonly Metric[]) => Object.fromEntries(metrics.map(({ name, metricType }) => [name, metricType]));
  return podMetrics.map(({ metrics, containerMetrics }) => ({ pod: kinds(metrics), container: kinds(containerMetrics.flatMap((container) => container.metrics)) }));
}

/** What happened to each object, in its order: the names of crictl's events by container id. */
function eventsById(output: string): Record<string, string[]> {
  const told: Record<string, string[]> = {};
  for (const json of output.split(/(?<=^\})\n/m).filter((part) => part.trim() !== '')) {
    const { containerId, containerEventType } = JSON.parse(json) as { containerId: string; containerEventType: string };
    (told[containerId] ??= []).push(containerEventType);
  }
  return told;
}
