import t from 'tap';
import { registryOf, withDefaultTag } from '../../src/manifest/image-reference.js';
import { pullCredentials } from '../../src/translate/pull-credentials.js';
import { manifest } from '../fixtures.js';

await t.test('registry and tag of a reference', async (t) => {
  t.equal(registryOf('busybox'), 'docker.io');
  t.equal(registryOf('library/busybox:1'), 'docker.io');
  t.equal(registryOf('localhost/a'), 'localhost');
  t.equal(registryOf('127.0.0.1:5000/a/b@sha256:00'), '127.0.0.1:5000');
  t.equal(registryOf('registry.example/a'), 'registry.example');
  t.equal(withDefaultTag('localhost:5000/a'), 'localhost:5000/a:latest');
  t.equal(withDefaultTag('a:1'), 'a:1');
  t.equal(withDefaultTag('a@sha256:00'), 'a@sha256:00');
});

await t.test('credentials from imagePullSecrets by registry', async (t) => {
  const json = (auths: object) => Buffer.from(JSON.stringify(auths)).toString('base64');
  const m = manifest(
    'containers: [{name: a, image: b}]\nimagePullSecrets: [{name: one}, {name: broken}, {name: old}, {name: missing}]',
    `---
apiVersion: v1
kind: Secret
metadata: {name: one}
type: kubernetes.io/dockerconfigjson
data: {.dockerconfigjson: ${json({ auths: { 'https://index.docker.io/v1/': { auth: 'dTpw' }, 'r.example': { username: 'u', password: 'p' } } })}}
---
apiVersion: v1
kind: Secret
metadata: {name: broken}
stringData: {.dockerconfigjson: "{"}
---
apiVersion: v1
kind: Secret
metadata: {name: old}
type: kubernetes.io/dockercfg
data: {.dockercfg: ${json({ 'r.example': { identitytoken: 'token', username: 3 } })}}`,
  );
  t.match(pullCredentials(m, 'busybox'), [{ auth: 'dTpw', serverAddress: 'https://index.docker.io/v1/' }]);
  t.match(pullCredentials(m, 'r.example/a:1'), [
    { username: 'u', password: 'p', serverAddress: 'r.example' },
    { username: '', identityToken: 'token' },
  ]);
  t.same(pullCredentials(m, 'other.example/a'), []);
});
