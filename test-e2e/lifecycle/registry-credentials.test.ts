import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthConfig, DeepPartial } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import { startAnsweringRegistry } from '../harness/answering-registry.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { CALL } from '../harness/pods.js';
import { writeRegistryHosts } from '../harness/registry-hosts.js';

const IMAGE = 'k8s-staging-cri-tools/test-image-1:latest';
const BASIC = `Basic ${Buffer.from('ann:s3cret').toString('base64')}`;

await onEachEngine(
  'registries that ask who pulls',
  async (t, node) => {
    const { image: images } = node.cri;
    const pull = (host: string, auth?: DeepPartial<AuthConfig>) =>
      images.pullImage({ image: { image: `${host}/${IMAGE}` }, ...(auth === undefined ? {} : { auth }) }, CALL);

    await t.test('Basic', async (t) => {
      const registry = await startAnsweringRegistry((ask, answer) => {
        if (ask.headers.authorization === BASIC) {
          forward(node.registry.url, ask, answer);
          return;
        }
        answer.writeHead(401, { 'www-authenticate': 'Basic realm="test"' });
        answer.end();
      });
      t.teardown(() => registry.close());
      const host = 'basic.criquet.test';
      await writeRegistryHosts(node.hostsDir, registry.url, [host]);

      await t.rejects(pull(host), { code: code.UNAUTHENTICATED }, 'not without credentials');
      const wrong = pull(host, { username: 'ann', password: 'wr0ng-passw0rd' });
      const refused = await wrong.then(
        () => undefined,
        (error: Error) => error,
      );
      t.match(refused, { code: code.UNAUTHENTICATED }, 'nor with a wrong password');
      t.notMatch(refused?.message, /wr0ng/, 'which is not repeated');
      t.ok((await pull(host, { username: 'ann', password: 's3cret' })).imageRef, 'user name and password');
      await images.removeImage({ image: { image: `${host}/${IMAGE}` } }, CALL);
      t.ok((await pull(host, { auth: Buffer.from('ann:s3cret').toString('base64') })).imageRef, 'both in base64');
      await images.removeImage({ image: { image: `${host}/${IMAGE}` } }, CALL);
      await t.rejects(
        pull(host, { username: 'ann', password: 's3cret', serverAddress: 'https://elsewhere.criquet.test' }),
        { code: code.UNAUTHENTICATED },
        'credentials of another registry are not sent',
      );
    });

    await t.test('Bearer, from a token server', async (t) => {
      let base = '';
      const registry = await startAnsweringRegistry((ask, answer) => {
        if (ask.url?.startsWith('/token') === true) {
          token(ask, answer);
          return;
        }
        if (ask.headers.authorization === 'Bearer one-time-token') {
          forward(node.registry.url, ask, answer);
          return;
        }
        answer.writeHead(401, { 'www-authenticate': `Bearer realm="${base}/token",service="test",scope="repository:x:pull"` });
        answer.end();
      });
      base = registry.url;
      t.teardown(() => registry.close());
      const host = 'bearer.criquet.test';
      await writeRegistryHosts(node.hostsDir, registry.url, [host]);
      await t.rejects(pull(host), { code: code.UNAUTHENTICATED });
      t.ok((await pull(host, { username: 'ann', password: 's3cret' })).imageRef, 'user name and password');
      await images.removeImage({ image: { image: `${host}/${IMAGE}` } }, CALL);
      t.ok((await pull(host, { identityToken: 'refresh-me' })).imageRef, 'an identity token');
      await images.removeImage({ image: { image: `${host}/${IMAGE}` } }, CALL);
    });

    await t.test('no secret is in the log, which is at its most talkative', async (t) => {
      const log = await readFile(node.criquet?.logFile ?? '', 'utf8');
      t.match(log, /PullImage/);
      for (const secret of ['s3cret', 'wr0ng', 'refresh-me', 'one-time-token', BASIC.slice('Basic '.length)]) {
        t.notOk(log.includes(secret), secret);
      }
    });
  },
  { only: 'criquet', engines: 'newest', logLevel: 'trace' },
);

/** A token server: by Basic at a GET, or by a user name and password or an identity token in a form. */
function token(ask: IncomingMessage, answer: ServerResponse): void {
  let form = '';
  ask.setEncoding('utf8');
  ask.on('data', (chunk: string) => (form += chunk));
  ask.on('end', () => {
    const fields = new URLSearchParams(form);
    const known =
      ask.headers.authorization === BASIC ||
      fields.get('refresh_token') === 'refresh-me' ||
      (fields.get('username') === 'ann' && fields.get('password') === 's3cret');
    answer.writeHead(known ? 200 : 401, { 'content-type': 'application/json' });
    answer.end(known ? JSON.stringify({ token: 'one-time-token', access_token: 'one-time-token', expires_in: 60 }) : '{}');
  });
}

/** Hands a request to the node's registry and its answer back. */
function forward(to: string, ask: IncomingMessage, answer: ServerResponse): void {
  const headers = { ...ask.headers };
  delete headers.authorization;
  delete headers.host;
  const onward = request(new URL(ask.url ?? '/', to), { method: ask.method ?? 'GET', headers }, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(answer);
  });
  onward.on('error', () => answer.destroy());
  ask.pipe(onward);
}
