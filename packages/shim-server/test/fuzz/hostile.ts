import * as fc from 'fast-check';

/** What may not come to be in the root directory, whatever is asked. */
export const ESCAPE = 'criquet-fuzz-escaped';

const texts = [
  '', ' ', '.', '..', '/', '//', '-', '--help', '0', '-1', '\0', 'a\0b', 'a\nb', '\r\n', '\t', 'a:b:c', ';', 'a;b=c', 'a/b', 'a/../b',
  `../../../../../../../../${ESCAPE}`, `x/../../../../../../../../${ESCAPE}`, '%s%n', '%2e%2e%2f', '$(id)', '`id`', "'", '"', '\\', '{}', '[]', 'null', '{"a":',
  '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'undefined', 'NaN', '\u202egnp.exe', '\u0000\u200b', '\ufeff', '😀', 'é', '\ufffd', 'ﷺ',
  'sha256:', `sha256:${'0'.repeat(64)}`, 'sha256:xyz', 'docker.io/library/busybox:latest', 'a@b@c', 'localhost:99999/x', 'UPPER/case:tag', 'registry.test/app:1',
  '2147483648', '4294967296:0', '-1:-1', '18446744073709551616', '1e309', '0x10', 'root', 'app:extra', 'localhost/', 'localhost//etc/passwd', 'runtime/default',
  'unconfined', 'system.slice', 'a-b.slice', '/a/b.slice', 'kernel.shm_rmid_forced', 'net.ipv4.ip_forward', 'net/../kernel', 'CAP_SYS_ADMIN', 'ALL',
];

/** Text of a caller who means no good, or does not know better. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...texts) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom('a', '/', 'é', '😀', '\n', '\0'), fc.constantFrom(64, 255, 256, 4_096, 70_000)).map(([unit, count]) => unit.repeat(count)) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...texts), fc.constantFrom(...texts)).map(([a, b]) => a + b) },
);

/** As on the wire: also bytes that are no UTF-8, such as the halves of a surrogate pair. */
export const hostileUtf8: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 12, arbitrary: hostileText.map((text) => new Uint8Array(Buffer.from(text))) },
  { weight: 1, arbitrary: fc.constantFrom('eda080', 'edb080', 'ff', 'c080', 'f8888080', '61ff62').map((hex) => new Uint8Array(Buffer.from(hex, 'hex'))) },
);

export const hostileInteger: fc.Arbitrary<bigint> = fc.oneof(
  fc.constantFrom(0n, 1n, -1n, 2n, 10n, 255n, 65_535n, 65_536n, 2n ** 31n - 1n, 2n ** 31n, -(2n ** 31n), 2n ** 32n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n - 1n),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
);

/** Any JSON that a program may print in the place of what it should. */
export const hostileJson: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    hostileText,
    fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 2 ** 53, -(2 ** 63), 1e308),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(hostileText, tie('value'), { maxKeys: 4 }),
  ),
})).value;
