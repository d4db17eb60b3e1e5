import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import type { FakeProcess } from '@criquet/runtime-containerd/testing';
import { test, type Test } from 'tap';
import { WebSocket } from 'ws';
import { drained, SpdyClient } from '../streaming/support/spdy-client.js';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

async function started(t: Test, options: Parameters<typeof Shim.start>[0] = {}): Promise<Shim> {
  const shim = await Shim.start(options);
  t.teardown(() => shim.close());
  return shim;
}

const until = (what: () => boolean | undefined, ms?: number) =>
  eventually(() => {
    if (what() !== true) throw new Error('not yet');
  }, ms);

/** A running container whose commands do what `program` says. */
async function running(shim: Shim, program: (process: FakeProcess) => void | Promise<void>, change = {}): Promise<string> {
  shim.containerd.program = (process) => (process.execId === '' ? undefined : program(process));
  return shim.startContainer(await shim.runPod(), change);
}

const exec = async (shim: Shim, containerId: string, change = {}) =>
  (await shim.cri.runtime.exec({ containerId, cmd: ['x'], stdout: true, stderr: true, ...change })).url;

/** The command's FIFOs go soon after its client has its answer. */
const nothingLeft = (shim: Shim, containerId: string) =>
  eventually(async () => {
    const files = (await shim.ioFiles(containerId)).filter((name) => !/^std(in|out|err)$/.test(name));
    const execs = [...shim.containerd.task(NAMESPACE, containerId).execs.keys()];
    if (files.length + execs.length > 0) throw new Error([...files, ...execs].join());
  });

async function echo(process: FakeProcess): Promise<void> {
  for await (const chunk of process.stdin()) await process.stdout(chunk);
  process.exit(0);
}

/** A WebSocket client that sorts what it gets by channel. */
async function webSocket(url: string, protocols: string[]) {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), protocols);
  const got = new Map<number, Buffer[]>();
  const base64 = protocols[0]?.includes('base64') === true;
  socket.on('message', (message: Buffer) => {
    const channel = base64 ? (message[0] ?? 0) - 48 : (message[0] ?? -1);
    const data = base64 ? Buffer.from(message.toString().slice(1), 'base64') : message.subarray(1);
    got.set(channel, [...(got.get(channel) ?? []), data]);
  });
  const closed = once(socket, 'close');
  await once(socket, 'open');
  return {
    socket,
    closed,
    text: (channel: number) => Buffer.concat(got.get(channel) ?? []).toString(),
    count: (channel: number) => got.get(channel)?.length ?? 0,
    send: (channel: number, data: string) =>
      socket.send(base64 ? `${channel}${Buffer.from(data).toString('base64')}` : Buffer.concat([Buffer.from([channel]), Buffer.from(data)])),
  };
}

async function listening(t: Test, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets: Socket[] = [];
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    // One that is not read does not learn that its peer has gone.
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as { port: number }).port;
}

for (const protocol of ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io']) {
  test(`S5 exec over SPDY ${protocol}: streams, half-close of stdin, exit code`, async (t) => {
    const shim = await started(t);
    const containerId = await running(shim, async (process) => {
      const input: Buffer[] = [];
      for await (const chunk of process.stdin()) input.push(chunk);
      await process.stdout(`got ${Buffer.concat(input).toString()}`);
      await process.stderr('warned');
      process.exit(42);
    });
    const client = await SpdyClient.connect(await exec(shim, containerId, { stdin: true }), [protocol]);
    t.equal(client.protocol, protocol);
    const { error, stdin, stdout, stderr } = await client.openTypes('error', 'stdin', 'stdout', 'stderr');
    client.ping(9);
    stdin.write('in');
    stdin.write('put');
    stdin.end();
    await client.closed;
    t.ok([error, stdin, stdout, stderr].every((stream) => stream.replied), 'every SYN_STREAM is answered');
    t.same(client.pings, [9]);
    t.equal(stdout.text, 'got input');
    t.equal(stderr.text, 'warned');
    t.ok(stdout.ended && stderr.ended && error.ended);
    if (/^v[45]/.test(protocol)) t.match(JSON.parse(error.text), { status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: '42' }] } });
    else t.match(error.text, /exit code: 42$/);
    await nothingLeft(shim, containerId);
  });
}

for (const protocol of ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'channel.k8s.io', 'base64.channel.k8s.io', 'v4.base64.channel.k8s.io', '']) {
  test(`S4, S5 exec over WebSocket ${protocol || 'without a protocol'}`, async (t) => {
    const shim = await started(t);
    const containerId = await running(shim, async (process) => {
      for await (const chunk of process.stdin()) {
        await process.stdout(`got ${chunk.toString()}`);
        if (protocol !== 'v5.channel.k8s.io') process.exit(42);
      }
      process.exit(42);
    });
    const client = await webSocket(await exec(shim, containerId, { stdin: true }), protocol === '' ? [] : [protocol]);
    t.equal(client.socket.protocol, protocol);
    await until(() => client.count(1) === 1);
    t.equal(client.text(1), '', 'an empty message says that it is connected');
    client.send(0, 'hi');
    if (protocol === 'v5.channel.k8s.io') {
      await until(() => client.text(1) === 'got hi');
      client.socket.send(Buffer.from([255, 0])); // v5: the end of stdin
    }
    const [code] = (await client.closed) as [number];
    t.equal(code, 1000);
    t.equal(client.text(1), 'got hi');
    if (protocol.startsWith('v')) t.match(JSON.parse(client.text(3)), { details: { causes: [{ reason: 'ExitCode', message: '42' }] } });
    else t.match(client.text(3), /42/);
  });
}

test('Exec runs the command that was asked for', async (t) => {
  const shim = await started(t);
  const containerId = await running(shim, async (process) => {
    await process.stdout(process.args.join(' '));
    process.exit(0);
  });
  const client = await SpdyClient.connect(await exec(shim, containerId, { cmd: ['ls', '-l', '/'] }), ['v4.channel.k8s.io']);
  const { stdout } = await client.openTypes('error', 'stdout', 'stderr');
  await client.closed;
  t.equal(stdout.text, 'ls -l /');
});

test('Exec: a stream that was not asked for carries nothing', async (t) => {
  const shim = await started(t);
  const containerId = await running(shim, async (process) => {
    await process.stdout('out');
    await process.stderr('err');
    process.exit(0);
  });
  for (const [asked, out, err] of [[{ stdout: true, stderr: false }, 'out', ''], [{ stdout: false, stderr: true }, '', 'err']] as const) {
    const client = await SpdyClient.connect(await exec(shim, containerId, asked), ['v4.channel.k8s.io']);
    const { stdout, stderr } = await client.openTypes('error', 'stdout', 'stderr');
    await client.closed;
    t.same([stdout.text, stderr.text], [out, err]);
  }
});

test('a terminal: the first size is there when the command starts, later ones follow', async (t) => {
  const shim = await started(t);
  let seen: FakeProcess | undefined;
  const containerId = await running(shim, (process) => void (seen = process));
  const url = await exec(shim, containerId, { tty: true, stdin: true, stderr: false });
  const client = await SpdyClient.connect(url, ['v4.channel.k8s.io']);
  const { error, resize } = await client.openTypes('error', 'stdin', 'stdout', 'resize');
  resize.write('{"Width":100,"Height":40}');
  await until(() => seen !== undefined);
  t.match(seen?.process, { terminal: true, consoleSize: { width: 100, height: 40 } });
  t.ok(seen?.process?.env?.includes('TERM=xterm'));
  resize.write('{"Width":90,"Height":30}\n');
  await until(() => seen?.size?.width === 90);
  t.match(seen?.size, { width: 90, height: 30 });
  seen?.exit(0);
  await client.closed;
  t.match(JSON.parse(error.text), { status: 'Success' });
});

test('a client that goes away: a terminal is hung up, elsewhere output that nobody takes brings SIGPIPE, stdin ends', async (t) => {
  const shim = await started(t);
  const processes: FakeProcess[] = [];
  const containerId = await running(shim, async (process) => {
    processes.push(process);
    process.onSignal((signal) => process.exit(128 + signal));
    for await (const _ of process.stdin());
    if (process.init.terminal) return;
    await process.stdout('to nobody');
  });
  for (const tty of [true, false]) {
    const client = await SpdyClient.connect(await exec(shim, containerId, { tty, stdin: true, stderr: false }), ['v4.channel.k8s.io']);
    await client.openTypes('error', 'stdin', 'stdout', ...(tty ? ['resize'] : []));
    // One whose client goes away before that is taken back.
    await until(() => shim.logLines.filter((line) => line.includes('"step":"start the exec process"')).length === (tty ? 1 : 2));
    client.socket.destroy();
    await processes.at(-1)?.ended;
    t.same(processes.at(-1)?.signals, [tty ? 1 : 13]);
  }
  await nothingLeft(shim, containerId);
});

test('URLs: once, of their kind, and not too many; what is no upgrade is refused', async (t) => {
  const shim = await started(t, { change: (config) => ({ ...config, streaming: { ...config.streaming, tokenLimit: 2, tokenTtl: 400 } }) });
  const containerId = await running(shim, (process) => process.exit(0));
  const url = await exec(shim, containerId);
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+\/exec\/[\w-]{43}$/);
  await t.rejects(SpdyClient.connect(url.replace('/exec/', '/attach/'), ['v4.channel.k8s.io']), { message: '404' });
  t.equal((await fetch(url)).status, 404, 'not for anything but an upgrade');
  const client = await SpdyClient.connect(url, ['v9.channel.k8s.io', 'v4.channel.k8s.io'], 'GET');
  t.equal(client.protocol, 'v4.channel.k8s.io');
  client.socket.destroy();
  await t.rejects(SpdyClient.connect(url, ['v4.channel.k8s.io']), { message: '404' }, 'once');
  await t.rejects(SpdyClient.connect(await exec(shim, containerId), ['v9.channel.k8s.io']), { message: '403' });
  await exec(shim, containerId);
  const late = await exec(shim, containerId);
  await t.rejects(exec(shim, containerId), { code: status.RESOURCE_EXHAUSTED });
  await pause(500);
  await t.rejects(SpdyClient.connect(late, ['v4.channel.k8s.io']), { message: '404' }, 'too old');
  await t.rejects(exec(shim, containerId, { tty: true }), { code: status.INVALID_ARGUMENT });
  await t.rejects(exec(shim, containerId, { stdout: false, stderr: false }), { code: status.INVALID_ARGUMENT });
  await t.rejects(exec(shim, 'unknown'), { code: status.NOT_FOUND });
  await t.rejects(shim.cri.runtime.attach({ containerId: 'unknown', stdout: true }), { code: status.NOT_FOUND });
  await t.rejects(shim.cri.runtime.portForward({ podSandboxId: 'unknown' }), { code: status.NOT_FOUND });
  t.ok(shim.logLines.every((line) => !line.includes(late.slice(-43))), 'no token in the log');
});

test('a client that never opens its streams is let go', async (t) => {
  const shim = await started(t, { change: (config) => ({ ...config, streaming: { ...config.streaming, streamCreationTimeout: 200 } }) });
  const containerId = await running(shim, (process) => process.exit(0));
  const client = await SpdyClient.connect(await exec(shim, containerId), ['v4.channel.k8s.io']);
  await client.openTypes('error');
  await client.closed;
  t.pass();
});

test('idle_timeout: a session on which nothing goes is closed, one that is used stays', async (t) => {
  const shim = await started(t, { change: (config) => ({ ...config, streaming: { ...config.streaming, idleTimeout: 1_500 } }) });
  const containerId = await running(shim, echo);
  const open = async () => {
    const client = await SpdyClient.connect(await exec(shim, containerId, { stdin: true }), ['v4.channel.k8s.io']);
    return { client, ...(await client.openTypes('error', 'stdin', 'stdout', 'stderr')) };
  };
  const [silent, used] = [await open(), await open()];
  const talk = setInterval(() => used.stdin.write('.'), 50);
  t.teardown(() => clearInterval(talk));
  const began = Date.now();
  await silent.client.closed;
  t.ok(Date.now() - began > 1_000, `after ${Date.now() - began} ms`);
  t.notOk(used.client.socket.destroyed);
  const before = used.stdout.text.length;
  await until(() => used.stdout.text.length > before);
  used.client.socket.destroy();
});

test('S1 a command that leaves a child which holds its streams', async (t) => {
  const shim = await started(t);
  const containerId = await running(shim, async (process) => {
    await process.stdout('hi');
    const { streams } = process as unknown as { streams: { close: () => Promise<void> } };
    const close = streams.close.bind(streams);
    t.teardown(close);
    streams.close = () => Promise.resolve();
    process.exit(0);
  });
  const began = Date.now();
  const client = await SpdyClient.connect(await exec(shim, containerId), ['v4.channel.k8s.io']);
  const { error, stdout } = await client.openTypes('error', 'stdout', 'stderr');
  await client.closed;
  t.ok(Date.now() - began < 3_000);
  t.equal(stdout.text, 'hi');
  t.match(JSON.parse(error.text), { status: 'Success' });
});

test('much in and out, with a client that pauses: nothing is lost', async (t) => {
  const shim = await started(t);
  const containerId = await running(shim, echo);
  const client = await SpdyClient.connect(await exec(shim, containerId, { stdin: true }), ['v4.channel.k8s.io']);
  const { stdin, stdout } = await client.openTypes('error', 'stdin', 'stdout', 'stderr');
  const size = 64 * 1024;
  for (let chunk = 0; chunk < 300; chunk++) {
    stdin.write(Buffer.alloc(size, chunk));
    if (chunk === 150) {
      client.socket.pause();
      await pause(300);
      client.socket.resume();
    }
    await drained(client.socket);
  }
  stdin.end();
  await client.closed;
  const all = Buffer.concat(stdout.chunks);
  t.equal(all.length, 300 * size);
  t.ok(Array.from({ length: 300 }, (_, chunk) => all[chunk * size] === chunk % 256 && all[chunk * size + size - 1] === chunk % 256).every(Boolean));
});

const attach = async (shim: Shim, containerId: string, change = {}) => (await shim.cri.runtime.attach({ containerId, stdin: true, stdout: true, stderr: true, ...change })).url;

test('S6 attach: several clients see the output beside the log; stdin_once closes the input and output runs to the exit', async (t) => {
  const shim = await started(t);
  shim.run(async (process) => {
    for await (const chunk of process.stdin()) await process.stdout(`got ${chunk.toString()}`);
    await process.stderr('bye\n');
    process.exit(3);
  });
  const containerId = await shim.startContainer(await shim.runPod(), { stdin: true, stdinOnce: true, logPath: 'app/0.log' });
  const watcher = await SpdyClient.connect(await attach(shim, containerId, { stdin: false }), ['v4.channel.k8s.io']);
  const seen = await watcher.openTypes('error', 'stdout', 'stderr');
  const client = await webSocket(await attach(shim, containerId), ['v5.channel.k8s.io']);
  await until(() => seen.stderr.replied && client.count(1) === 1);
  await pause(50);
  client.send(0, 'hi\n');
  await until(() => client.text(1) === 'got hi\n' && seen.stdout.text === 'got hi\n');
  client.socket.send(Buffer.from([255, 0]));
  await client.closed;
  await watcher.closed;
  t.equal(client.text(2), 'bye\n');
  t.equal(seen.stderr.text, 'bye\n');
  t.match(JSON.parse(client.text(3)), { status: 'Success' });
  t.same(await shim.log(), ['stdout F got hi', 'stderr F bye']);
});

test('S6 attach without stdin_once: the end of the input ends the attach, not the container; a second client follows', async (t) => {
  const shim = await started(t);
  shim.run(echo);
  const containerId = await shim.startContainer(await shim.runPod(), { stdin: true });
  for (const word of ['one', 'two']) {
    const client = await SpdyClient.connect(await attach(shim, containerId), ['v4.channel.k8s.io']);
    const { error, stdin, stdout } = await client.openTypes('error', 'stdin', 'stdout', 'stderr');
    stdin.write(word);
    await until(() => stdout.text === word);
    stdin.end();
    await client.closed;
    t.match(JSON.parse(error.text), { status: 'Success' });
  }
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1);
});

test('S6 attach to a terminal with an immediate resize', async (t) => {
  const shim = await started(t);
  const containerId = await shim.startContainer(await shim.runPod(), { stdin: true, tty: true });
  const client = await SpdyClient.connect(await attach(shim, containerId, { tty: true, stderr: false }), ['v4.channel.k8s.io']);
  const { resize } = await client.openTypes('error', 'stdin', 'stdout', 'resize');
  resize.write('{"Width":132,"Height":43}');
  await until(() => shim.containerd.process(NAMESPACE, containerId).size?.width === 132);
  client.socket.destroy();
});

test('S6 attach to a terminal by a client that has none, as kubectl in a pipe: one output, and errors on which nothing comes', async (t) => {
  const shim = await started(t);
  shim.run(echo);
  const containerId = await shim.startContainer(await shim.runPod(), { stdin: true, stdinOnce: true, tty: true });
  const refused = shim.cri.runtime.exec({ containerId, cmd: ['x'], tty: true, stdout: true, stderr: true });
  await t.rejects(refused, { code: status.INVALID_ARGUMENT, details: /stderr/ }, 'a command gets a terminal for a client that has one');
  const url = await attach(shim, containerId, { tty: true, stderr: true });
  const client = await SpdyClient.connect(url, ['v4.channel.k8s.io']);
  const { error, stdin, stdout, stderr } = await client.openTypes('error', 'stdin', 'stdout', 'stderr');
  stdin.write('hi');
  await until(() => stdout.text === 'hi');
  shim.containerd.process(NAMESPACE, containerId).exit(0);
  await client.closed;
  t.equal(stderr.text, '');
  t.match(JSON.parse(error.text), { status: 'Success' });
});

test('a client that takes nothing stops neither the log nor another client', async (t) => {
  const shim = await started(t);
  let go: () => void = () => undefined;
  const may = new Promise<void>((resolve) => (go = resolve));
  const line = Buffer.alloc(64 * 1024, 'x');
  line[line.length - 1] = 10;
  shim.run(async (process) => {
    await may;
    for (let chunk = 0; chunk < 400; chunk++) await process.stdout(line);
    process.exit(0);
  });
  const containerId = await shim.startContainer(await shim.runPod());
  const stuck = await SpdyClient.connect(await attach(shim, containerId, { stdin: false }), ['v4.channel.k8s.io']);
  await stuck.openTypes('error', 'stdout', 'stderr');
  const quick = await SpdyClient.connect(await attach(shim, containerId, { stdin: false }), ['v4.channel.k8s.io']);
  const { stdout } = await quick.openTypes('error', 'stdout', 'stderr');
  await until(() => stdout.replied);
  await pause(100);
  stuck.socket.pause();
  const began = Date.now();
  go();
  await quick.closed;
  t.ok(Date.now() - began < 10_000, `${Date.now() - began} ms`);
  t.equal(Buffer.concat(stdout.chunks).length, 400 * line.length);
  stuck.socket.destroy();
});

const forward = async (shim: Shim, change = {}) => (await shim.cri.runtime.portForward({ podSandboxId: await shim.runPod(), ...change })).url;
const connection = async (client: SpdyClient, port: number, requestid: string) => ({
  error: await client.open({ streamtype: 'error', port: `${port}`, requestid }),
  data: await client.open({ streamtype: 'data', port: `${port}`, requestid }),
});

test('port-forward over SPDY: half-close both ways, many at once, a port where nobody listens', async (t) => {
  const shim = await started(t);
  const port = await listening(t, (socket) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).once('end', () => socket.end(`got ${Buffer.concat(chunks).toString()}`));
  });
  const client = await SpdyClient.connect(await forward(shim), ['portforward.k8s.io']);
  const all: Awaited<ReturnType<typeof connection>>[] = [];
  for (let index = 0; index < 20; index++) {
    const pair = await connection(client, port, `${index}`);
    pair.data.write(`hello ${index}`);
    pair.data.end();
    all.push(pair);
  }
  await until(() => all.every(({ data, error }) => data.ended && error.ended));
  t.same(all.map(({ data }) => data.text), Array.from({ length: 20 }, (_, index) => `got hello ${index}`));
  t.ok(all.every(({ error }) => error.text === ''));
  const nobody = await connection(client, 1, 'nobody');
  await until(() => nobody.error.ended && nobody.data.reset !== undefined);
  t.match(nobody.error.text, /^error forwarding port 1 to pod [0-9a-f]{64}: .*ECONNREFUSED/);
  const refused = await client.open({ streamtype: 'data', port: '0' });
  await until(() => refused.reset === 3);
  client.socket.destroy();
});

test('S3 early answer: only that stream is reset, the session goes on, nothing stays open', async (t) => {
  const shim = await started(t);
  const open = new Set<Socket>();
  const port = await listening(t, (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.once('data', () => {
      // A close with unread input resets the connection, and a reset may overtake the answer in the kernel.
      socket.end('answer\n', () => setTimeout(() => socket.destroy(), 200));
    });
  });
  const client = await SpdyClient.connect(await forward(shim), ['portforward.k8s.io']);
  const first = await connection(client, port, '1');
  const block = Buffer.alloc(64 * 1024);
  let sent = 0;
  for (; sent < 1600 && first.data.reset === undefined; sent++) {
    first.data.write(block);
    await drained(client.socket);
    await pause(0);
  }
  await until(() => first.data.reset !== undefined);
  t.equal(first.data.text, 'answer\n');
  await until(() => first.error.ended);
  t.equal(first.error.text, '', 'an error would make clients end the session');
  const second = await connection(client, port, '2');
  second.data.write('x');
  second.data.end();
  await until(() => second.data.ended && second.error.ended);
  t.equal(second.data.text, 'answer\n');
  await until(() => open.size === 0);
  client.socket.destroy();
});

test('a forwarded connection whose pod takes nothing is given up; the others of its session go on', async (t) => {
  const shim = await started(t);
  const stuck = await listening(t, (socket) => socket.pause());
  const port = await listening(t, (socket) => socket.pipe(socket));
  const client = await SpdyClient.connect(await forward(shim), ['portforward.k8s.io']);
  const first = await connection(client, stuck, 'stuck');
  const second = await connection(client, port, 'other');
  const block = Buffer.alloc(1024 * 1024);
  for (let sent = 0; sent < 60; sent++) first.data.write(block);
  second.data.write('hello');
  await until(() => second.data.text === 'hello', 15_000);
  t.equal(first.data.reset, 7, 'FLOW_CONTROL_ERROR');
  client.socket.destroy();
});

for (const protocol of ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io']) {
  test(`S4 port-forward over WebSocket ${protocol}: channels by port`, async (t) => {
    const shim = await started(t);
    const port = await listening(t, (socket) => socket.once('data', (chunk: Buffer) => socket.end(`got ${chunk.toString()}`)));
    const client = await webSocket(await forward(shim, { port: [port, 1] }), [protocol]);
    await until(() => client.count(0) >= 1 && client.count(3) >= 1);
    client.send(0, 'hi');
    await client.closed;
    const name = Buffer.from([port & 0xff, port >> 8]).toString();
    t.equal(client.text(0), `${name}got hi`);
    t.equal(client.text(1), name);
    t.match(client.text(3).slice(2), /error forwarding port 1/);
  });
}

test('port-forward over WebSocket needs ports', async (t) => {
  const shim = await started(t);
  const socket = new WebSocket((await forward(shim)).replace(/^http/, 'ws'), ['v4.channel.k8s.io']);
  const [error] = (await once(socket, 'error')) as [Error];
  t.match(error.message, /400/);
});

test('S7 the listener is lost: noticed, said in Status, opened again; streams under way go on', async (t) => {
  const shim = await started(t);
  const containerId = await running(shim, echo);
  const url = await exec(shim, containerId, { stdin: true });
  const port = new URL(url).port;
  const client = await SpdyClient.connect(url, ['v4.channel.k8s.io']);
  const { stdin, stdout } = await client.openTypes('error', 'stdin', 'stdout', 'stderr');
  const handles = (process as unknown as { _getActiveHandles(): { listening?: boolean; address?(): { port?: number } | null; close?(): void }[] })._getActiveHandles();
  const listener = handles.find((handle) => handle.listening === true && handle.address?.()?.port === Number(port));
  listener?.close?.();
  stdin.write('still here');
  await until(() => stdout.text === 'still here');
  await eventually(async () => {
    const { info } = await shim.cri.runtime.status({ verbose: true });
    const state = JSON.parse(info.streaming ?? '') as { listening: boolean; reopened: number; port: number };
    if (!state.listening || state.reopened !== 1 || state.port !== Number(port)) throw new Error(info.streaming);
  });
  const again = await SpdyClient.connect(await exec(shim, containerId, { stdin: true }), ['v4.channel.k8s.io']);
  again.socket.destroy();
  client.socket.destroy();
});
