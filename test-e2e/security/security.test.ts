import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { CHECKOUT } from '../cri-support/checkout.js';
import { hasTest, readTestNames, type TestNames } from '../cri-support/test-names.js';
import { namedTests } from './named-tests.js';

const document = () => readFile(join(CHECKOUT, 'SECURITY.md'), 'utf8');

t.test('every test that SECURITY.md names is there', async (t) => {
  const named = namedTests(await document());
  t.ok(named.length > 70, `${named.length} of them`);
  const known = new Map<string, TestNames>();
  for (const { file, name } of named) {
    if (!known.has(file)) known.set(file, await readTestNames(join(CHECKOUT, file)));
    t.ok(hasTest(known.get(file) ?? [], name), `${file}: ${name}`);
  }
});

t.test('every row about a published vulnerability and about confinement names a test', async (t) => {
  const text = await document();
  for (const heading of ['Confinement', 'What was published of others']) {
    const section = text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
    const rows = section.split('\n').filter((line) => line.startsWith('| ')).slice(1);
    t.ok(rows.length > 15, `${heading}: ${rows.length} rows`);
    for (const row of rows) t.ok(/: "/.test(row), row.slice(0, 60));
  }
});

t.test('names of tests are read as they are written', (t) => {
  t.same(namedTests('AB is `a/b.test.ts`. `c.test.ts`: "one, two", and AB: "three".'), [
    { file: 'c.test.ts', name: 'one, two' },
    { file: 'a/b.test.ts', name: 'three' },
  ]);
  t.throws(() => namedTests('XY: "four"'), /short name of no file/);
  t.end();
});
