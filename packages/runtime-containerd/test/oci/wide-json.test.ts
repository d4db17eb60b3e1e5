import t from 'tap';
import { parseWide, stringifyWide } from '../../src/oci/wide-json.js';

t.test('integers of 64 bits survive both ways', async (t) => {
  const text = '{"rlimits":[{"type":"RLIMIT_NOFILE","hard":18446744073709551615,"soft":1024}],"min":-9223372036854775808}';
  const value = parseWide(text);
  t.same(value, { rlimits: [{ type: 'RLIMIT_NOFILE', hard: 2n ** 64n - 1n, soft: 1024 }], min: -(2n ** 63n) });
  t.equal(stringifyWide(value), text);
});

t.test('what a number holds exactly stays a number', async (t) => {
  t.same(parseWide('[9007199254740991, 1234567890123456, 1.2345678901234567890, 1e30, 12345678901234567890.5]'), [
    9007199254740991, 1234567890123456, 1.2345678901234567, 1e30, 12345678901234567000,
  ]);
  t.same(parseWide('[9007199254740993]'), [9007199254740993n]);
});

t.test('digits inside strings are text', async (t) => {
  const value = { '99999999999999999999': 'a"18446744073709551615\\', b: ['18446744073709551615'], c: 'wide-integer:1:2' };
  t.same(parseWide(JSON.stringify(value)), value);
});

t.test('the rest is as in JSON.stringify', async (t) => {
  const value = { a: undefined, b: null, c: [undefined, 1, 'x\n\u2028'], d: true, e: {}, 'f"': 1.5, g: Number.NaN };
  t.equal(stringifyWide(value), JSON.stringify(value));
  t.equal(stringifyWide(undefined), 'null');
});

t.test('rubbish is refused', async (t) => {
  t.throws(() => parseWide('{"a": 12345678901234567890'), SyntaxError);
  t.throws(() => parseWide('nonsense'), SyntaxError);
});
