import { status } from '@grpc/grpc-js';
import { ContainerdError, PullStalled } from '@criquet/runtime-containerd';
import { test } from 'tap';
import { toStatus } from '../../src/grpc/status.js';
import { pullError, unusableImage } from '../../src/image/pull-error.js';

const NAME = 'reg.test/a:1';
const told = (details: string, code = status.UNKNOWN) => toStatus(pullError(new ContainerdError(code, 'transfer.transfer', details), NAME));

test('a signature that does not verify: the kubelet\'s prefix, code UNKNOWN', (t) => {
  for (const details of ['image verifier rejected image', 'signature validation failed']) {
    t.match(told(details), { code: status.UNKNOWN, message: new RegExp(`^SignatureValidationFailed: ${NAME}: `) });
  }
  t.end();
});

test('every way of not reaching a registry: the kubelet\'s prefix, code UNKNOWN', (t) => {
  for (const details of [
    'dial tcp 10.0.0.1:443: i/o timeout',
    'read tcp: connection reset by peer',
    'dial tcp: no route to host',
    'net/http: TLS handshake timeout',
    'unexpected EOF',
    'http: server gave HTTP response to HTTPS client',
    'unexpected status from HEAD request to https://reg.test/v2/a/manifests/1: 502 Bad Gateway',
    'unexpected status code https://reg.test/v2/a/blobs/sha256:1: 504 Gateway Timeout',
  ]) {
    t.match(told(details), { code: status.UNKNOWN, message: /^RegistryUnavailable: reg\.test\/a:1: / }, details);
  }
  t.end();
});

test('401, 403 and 429 are told by code; what only looks like them is not', (t) => {
  const url = 'https://reg.test/v2/403/429/blobs/1';
  t.equal(told(`unexpected status from GET request to ${url}: 401 Unauthorized`).code, status.UNAUTHENTICATED);
  t.equal(told('pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed').code, status.UNAUTHENTICATED);
  t.equal(told(`unexpected status from GET request to ${url}: 403 Forbidden`).code, status.PERMISSION_DENIED);
  t.equal(told(`unexpected status from GET request to ${url}: 429 Too Many Requests`).code, status.RESOURCE_EXHAUSTED);
  t.match(told(`dial tcp 10.0.0.1:401: connect: connection refused`).message, /^RegistryUnavailable: /);
  t.match(told(`Get "https://forbidden.test/v2/": dial tcp: connection refused`).message, /^RegistryUnavailable: /);
  t.end();
});

test('an error that has a code keeps it', (t) => {
  for (const code of [status.NOT_FOUND, status.UNAVAILABLE, status.CANCELLED, status.FAILED_PRECONDITION]) t.equal(told('x', code).code, code);
  t.equal(told('something else', status.INVALID_ARGUMENT).code, status.INVALID_ARGUMENT);
  const own = new Error('own');
  t.equal(pullError(own, NAME), own);
  t.equal(unusableImage(own, NAME), undefined);
  t.end();
});

test('a pull without progress', (t) => {
  t.match(toStatus(pullError(new PullStalled(NAME, 1000, ['resolve']), NAME)), { code: status.UNKNOWN, message: /^RegistryUnavailable: .*no progress/ });
  t.end();
});
