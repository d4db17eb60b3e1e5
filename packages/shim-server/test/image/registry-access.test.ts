import { status } from '@grpc/grpc-js';
import { AuthConfig } from '@criquet/cri-api';
import { join } from 'node:path';
import { test } from 'tap';
import { credentialsFor, registryToken, sameRegistry } from '../../src/image/registry-credentials.js';
import { registryHosts } from '../../src/image/registry-hosts.js';

const auth = (fields: object) => AuthConfig.fromPartial(fields);

test('credentials are given to the server they are for', (t) => {
  const forServer = (serverAddress: string, host: string) => credentialsFor(auth({ username: 'u', password: 'p', serverAddress }))?.(host);
  const given = { kind: 'password' as const, username: 'u', password: 'p' };
  for (const [server, host] of [
    ['', 'any.test'],
    ['quay.io', 'quay.io'],
    ['https://quay.io', 'quay.io'],
    ['http://localhost:5000/v2/', 'localhost:5000'],
    ['https://index.docker.io/v1/', 'registry-1.docker.io'],
    ['docker.io', 'registry-1.docker.io'],
    ['reg.test:443', 'reg.test:443'],
    ['https://reg.test', 'reg.test:443'],
    ['[fd00::1]:5000', '[fd00::1]:5000'],
  ] as const) t.same(forServer(server, host), given, `${server} for ${host}`);
  for (const [server, host] of [
    ['quay.io', 'docker.io'],
    ['quay.io', 'quay.io:5000'],
    ['quay.io', 'quay.io.evil.test'],
    ['evil.test/quay.io', 'quay.io'],
    ['reg.test:80', 'reg.test:443'],
  ] as const) t.equal(forServer(server, host), undefined, `${server} not for ${host}`);
  t.throws(() => forServer('http://[', 'x'), { code: status.INVALID_ARGUMENT, message: /server_address/ });
  t.end();
});

test('which of several is used, as containerd reads an AuthConfig', (t) => {
  const first = (fields: object) => credentialsFor(auth(fields))?.('x');
  const b64 = Buffer.from('a:b').toString('base64');
  t.match(first({ username: 'u', password: 'p', identityToken: 't', auth: b64 }), { kind: 'password', username: 'u' });
  t.same(first({ identityToken: 't', auth: b64 }), { kind: 'identity-token', token: 't' });
  t.same(first({ auth: b64 }), { kind: 'password', username: 'a', password: 'b' });
  t.same(first({ auth: Buffer.from('a:b\0\0').toString('base64') }), { kind: 'password', username: 'a', password: 'b' });
  t.equal(first({}), undefined);
  t.equal(credentialsFor(undefined), undefined);
  t.equal(registryToken(auth({ registryToken: 't' })), 't');
  t.equal(registryToken(auth({})), undefined);
  t.equal(registryToken(undefined), undefined);
  t.end();
});

test('one registry by two names', (t) => {
  t.ok(sameRegistry('docker.io', 'registry-1.docker.io'));
  t.ok(sameRegistry('reg.test', 'reg.test:443'));
  t.notOk(sameRegistry('reg.test', 'reg.test:80'));
  t.notOk(sameRegistry('docker.io', 'quay.io'));
  t.end();
});

test('the hosts that hosts.toml names', async (t) => {
  const dir = t.testdir({
    'reg.test:5000': { 'hosts.toml': 'server = "https://real.test"\n[host."http://m1.test:80"]\ncapabilities = ["pull"]\n[host."https://m2.test/prefix"]\n' },
    'plain.test_5000_': { 'hosts.toml': '[host."m3.test:5000"]\n' },
    'broken.test': { 'hosts.toml': 'server = [\n' },
    'odd.test': { 'hosts.toml': 'server = "http://[" \n' },
    'empty.test': {},
    'directory.test': { 'hosts.toml': {} },
  });
  t.same(await registryHosts(dir, 'reg.test:5000'), ['m1.test', 'm2.test', 'real.test']);
  t.same(await registryHosts(dir, 'plain.test:5000'), ['m3.test:5000', 'plain.test:5000']);
  t.same(await registryHosts(dir, 'empty.test'), ['empty.test']);
  t.same(await registryHosts(dir, 'other.test'), ['other.test']);
  t.same(await registryHosts('', 'reg.test:5000'), ['reg.test:5000']);
  t.same(await registryHosts(join(dir, 'absent'), 'reg.test'), ['reg.test']);
  for (const name of ['broken.test', 'odd.test', 'directory.test']) {
    await t.rejects(registryHosts(dir, name), { code: status.FAILED_PRECONDITION, message: new RegExp(`${name}/hosts\\.toml`) });
  }
});

test('_default is for registries without a directory of their own', async (t) => {
  const dir = t.testdir({
    _default: { 'hosts.toml': '[host."http://mirror.test"]\n' },
    'own.test': { 'hosts.toml': '' },
  });
  t.same(await registryHosts(dir, 'any.test'), ['mirror.test', 'any.test']);
  t.same(await registryHosts(dir, 'own.test'), ['own.test']);
});
