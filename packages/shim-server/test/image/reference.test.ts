import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import { asImageId, formatReference, parseReference, repository, tryParseReference } from '../../src/image/reference.js';

const SHA = 'a'.repeat(64);

// The distribution reference grammar and its rule of what is a registry (github.com/distribution/reference, normalize.go).
const good: readonly [string, string][] = [
  ['busybox', 'docker.io/library/busybox:latest'],
  ['busybox:1.36', 'docker.io/library/busybox:1.36'],
  ['team/app', 'docker.io/team/app:latest'],
  ['docker.io/busybox', 'docker.io/library/busybox:latest'],
  ['index.docker.io/busybox', 'docker.io/library/busybox:latest'],
  ['docker.io/team/app:x', 'docker.io/team/app:x'],
  ['quay.io/a/b/c', 'quay.io/a/b/c:latest'],
  ['localhost/app', 'localhost/app:latest'],
  ['localhost:5000/app:1', 'localhost:5000/app:1'],
  ['localhost:5000', 'docker.io/library/localhost:5000'],
  ['registry/app', 'docker.io/registry/app:latest'],
  ['REGISTRY/app', 'REGISTRY/app:latest'],
  ['127.0.0.1:5000/a_b__c-d.e/f:T_a.g-1', '127.0.0.1:5000/a_b__c-d.e/f:T_a.g-1'],
  ['[fd00::1]:5000/app', '[fd00::1]:5000/app:latest'],
  [`busybox@sha256:${SHA}`, `docker.io/library/busybox@sha256:${SHA}`],
  [`quay.io/a/b:1@sha256:${SHA}`, `quay.io/a/b@sha256:${SHA}`],
  [`busybox@sha512:${'b'.repeat(128)}`, `docker.io/library/busybox@sha512:${'b'.repeat(128)}`],
  [`a:${'t'.repeat(128)}`, `docker.io/library/a:${'t'.repeat(128)}`],
];
for (const [text, full] of good) {
  test(`${text} is ${full}`, (t) => {
    t.equal(formatReference(parseReference(text)), full);
    t.equal(formatReference(parseReference(full)), full, 'and that is a reference too');
    t.end();
  });
}

const bad = [
  '', ' ', 'a b', 'UPPER', 'quay.io/UPPER', 'a//b', '/a', 'a/', 'a:', 'a:-x', `a:${'t'.repeat(129)}`, 'a@', 'a@sha256:', 'a@sha256:123',
  `a@sha256:${'a'.repeat(32)}`, `a@sha256:${'a'.repeat(65)}`, `a@sha256:${'A'.repeat(64)}`, `a@md5:${'a'.repeat(32)}`, `a@sha256:${'g'.repeat(64)}`,
  'a@@b', '-a', 'a-', 'a..b', 'a___b', 'quay.io:port/a', '-reg.test/a', 'https://quay.io/a', 'quay.io/a?b', 'ä', 'a\nb', SHA,
  `x.test/${'a/'.repeat(130)}a`,
];
for (const text of bad) {
  test(`${JSON.stringify(text).slice(0, 60)} is no reference`, (t) => {
    t.throws(() => parseReference(text, 'image.image'), { code: status.INVALID_ARGUMENT, message: /^image\.image: / });
    t.equal(tryParseReference(text), undefined);
    t.end();
  });
}

test('the parts', (t) => {
  t.same(parseReference(`reg.test:5000/a/b:1@sha256:${SHA}`), { domain: 'reg.test:5000', path: 'a/b', tag: '1', digest: `sha256:${SHA}` });
  t.equal(repository(parseReference('busybox:1')), 'docker.io/library/busybox');
  t.end();
});

test('image ids', (t) => {
  t.equal(asImageId(SHA), `sha256:${SHA}`);
  t.equal(asImageId(`sha256:${SHA}`), `sha256:${SHA}`);
  for (const text of [SHA.slice(1), SHA.toUpperCase(), `sha512:${SHA}`, 'busybox', '']) t.equal(asImageId(text), undefined, text);
  t.end();
});
