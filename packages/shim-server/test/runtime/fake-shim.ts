import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** ttrpc's PROTOCOL.md: a header of ten bytes, then the message. */
const HEADER_BYTES = 10;
const RESPONSE = 2;
const SHIM_PID = 7;

/** An answer by its bytes: of `Response` field 1 is the status, field 2 the payload. */
export function answered(payload: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from([0x12, payload.length]), payload]);
}

export function refused(code: number): Buffer {
  return Buffer.from([0x0a, 2, 0x08, code]);
}

/** A `/proc` in which a shim of the sandbox runs, with the processes that it has started; it answers each method by name. */
export async function fakeShim(t: Test, sandboxId: string, children: readonly number[], answers: Readonly<Record<string, Buffer>>) {
  const proc = await mkdtemp(join(tmpdir(), 'criquet-shims-'));
  const methods: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    let received = Buffer.alloc(0);
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      while (received.length >= HEADER_BYTES && received.length >= HEADER_BYTES + received.readUInt32BE(0)) {
        const end = HEADER_BYTES + received.readUInt32BE(0);
        const request = received.subarray(0, end);
        received = received.subarray(end);
        const method = Object.keys(answers).find((name) => request.includes(Buffer.concat([Buffer.from([0x12, name.length]), Buffer.from(name)])));
        if (method === undefined) continue;
        methods.push(method);
        const body = answers[method] ?? Buffer.alloc(0);
        const header = Buffer.alloc(HEADER_BYTES);
        header.writeUInt32BE(body.length, 0);
        header.writeUInt32BE(request.readUInt32BE(4), 4);
        header.writeUInt8(RESPONSE, 8);
        socket.write(Buffer.concat([header, body]));
      }
    });
  });
  const address = join(proc, 's.sock');
  await new Promise<void>((resolve) => server.listen(address, resolve));
  const process = async (pid: number, parent: number, command: readonly string[]) => {
    await mkdir(join(proc, String(pid), 'cwd'), { recursive: true });
    await writeFile(join(proc, String(pid), 'stat'), `${pid} (a) b) S ${parent} 0 0\n`);
    await writeFile(join(proc, String(pid), 'cmdline'), [...command, ''].join('\0'));
  };
  await process(SHIM_PID, 1, ['/usr/bin/containerd-shim-runc-v2', '-namespace', 'k8s.io', '-id', sandboxId, '-address', '/run/c.sock']);
  for (const pid of children) await process(pid, SHIM_PID, ['/pause']);
  await writeFile(join(proc, String(SHIM_PID), 'cwd/bootstrap.json'), JSON.stringify({ version: 3, protocol: 'ttrpc', address: `unix://${address}` }));
  await symlink('/', join(proc, String(SHIM_PID), 'root'));
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await rm(proc, { recursive: true });
  });
  const [shown, hidden] = [join(proc, String(SHIM_PID)), join(proc, 'hidden')];
  return {
    proc,
    methods,
    /** The connections that are open. */
    sockets,
    socketPath: address,
    /** As one that has ended, but for the connections there are. */
    stopListening: () => {
      server.close();
      return rm(address, { force: true });
    },
    /** A process of somebody else. */
    stranger: (pid: number) => process(pid, 1, ['/bin/other']),
    /** As long as it has not been started yet. */
    hide: () => rename(shown, hidden),
    show: () => rename(hidden, shown),
  };
}
