import t from 'tap';
import { isQuantity, milliValue, wholeValue, type Quantity } from '../../src/index.js';

const q = (text: string) => text as Quantity;

await t.test('milli values, rounded up', async (t) => {
  const cases: [string, bigint][] = [
    ['0', 0n],
    ['1', 1000n],
    ['0.5', 500n],
    ['.5', 500n],
    ['5.', 5000n],
    ['100m', 100n],
    ['1500m', 1500n],
    ['1u', 1n],
    ['1n', 1n],
    ['1k', 1_000_000n],
    ['+2', 2000n],
    ['-1', -1000n],
    ['1e3', 1_000_000n],
    ['1E-3', 1n],
  ];
  for (const [text, expected] of cases) t.equal(milliValue(q(text)), expected, text);
});

await t.test('whole values, rounded up', async (t) => {
  const cases: [string, bigint][] = [
    ['64Mi', 67_108_864n],
    ['1Gi', 1_073_741_824n],
    ['1.5Ki', 1536n],
    ['1M', 1_000_000n],
    ['128974848', 128_974_848n],
    ['100m', 1n],
    ['1Ei', 1_152_921_504_606_846_976n],
    ['2T', 2_000_000_000_000n],
  ];
  for (const [text, expected] of cases) t.equal(wholeValue(q(text)), expected, text);
});

await t.test('what is a quantity', async (t) => {
  for (const good of ['1', '1.', '.1', '1Mi', '1e9', '1E9', '-1m']) t.ok(isQuantity(good), good);
  for (const bad of ['', '.', 'Mi', '1mi', '1 Mi', '1MiB', 'lots', '0x10', '1e', '--1', '1e99999']) t.notOk(isQuantity(bad), bad);
});
