import { execFile } from 'node:child_process';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { test } from 'tap';
import { StreamServer, type StreamRuntime } from '../../src/streaming/index.js';
import { SpdyClient } from './support/spdy-client.js';

const run = promisify(execFile);

async function certificate(dir: string, name: string): Promise<void> {
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', `/CN=${name}`];
  await run('openssl', [...args, '-keyout', join(dir, `${name}.key`), '-out', join(dir, `${name}.crt`)]);
}

/** The name in the certificate that the server shows. */
function shown(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

const runtime: StreamRuntime = {
  exec: async (_target, { stdout }) => {
    await stdout?.write(Buffer.from('over TLS'));
    return 0;
  },
  attach: () => Promise.resolve(),
  portForward: () => Promise.resolve(),
};

test('TLS, and a renewed certificate without a restart', async (t) => {
  const dir = t.testdir({});
  await certificate(dir, 'first');
  await certificate(dir, 'second');
  const [certFile, keyFile] = [join(dir, 'first.crt'), join(dir, 'first.key')];
  const options = { address: '127.0.0.1', port: 0, idleTimeoutMs: 60_000, tokenTtlMs: 60_000, tokenLimit: 10, maxStreams: 10, creationTimeoutMs: 5_000, runtime };
  const server = new StreamServer({ ...options, tls: { certFile, keyFile }, log: pino({ level: 'silent' }) });
  await server.open();
  t.teardown(() => server.close());
  const url = server.url({ kind: 'exec', containerId: 'c', cmd: ['x'], tty: false, stdin: false, stdout: true, stderr: false }) ?? '';
  t.match(url, /^https:/);
  t.equal(await shown(server.state.port), 'first');
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  const client = await SpdyClient.connect(url, ['v4.channel.k8s.io']).finally(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
  const { stdout } = await client.openTypes('error', 'stdout');
  await client.closed;
  t.equal(stdout.text, 'over TLS');
  await rename(join(dir, 'second.key'), keyFile);
  await rename(join(dir, 'second.crt'), certFile);
  const end = Date.now() + 15_000;
  while ((await shown(server.state.port)) !== 'second' && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal(await shown(server.state.port), 'second');
});

test('a certificate that cannot be used is said at the start', async (t) => {
  const dir = t.testdir({});
  await certificate(dir, 'a');
  await certificate(dir, 'b');
  const open = (certFile: string, keyFile: string) =>
    new StreamServer({
      address: '127.0.0.1',
      port: 0,
      tls: { certFile, keyFile },
      idleTimeoutMs: 1_000,
      tokenTtlMs: 1_000,
      tokenLimit: 1,
      maxStreams: 1,
      creationTimeoutMs: 1_000,
      runtime,
      log: pino({ level: 'silent' }),
    }).open();
  await t.rejects(open(join(dir, 'none.crt'), join(dir, 'a.key')), { message: /streaming\.cert_file .*none\.crt: ENOENT/ });
  await t.rejects(open(join(dir, 'a.crt'), join(dir, 'b.key')), { message: /streaming\.key_file/ });
  t.ok((await readFile(join(dir, 'a.crt'))).length > 0);
});
