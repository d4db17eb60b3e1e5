import t from 'tap';
import { LineCount, type StreamAccount } from './counted-lines.js';

const lineOf = (n: number) => `${n} oooo ${n}`;
const all = (...numbers: number[]) => numbers.map(lineOf);

function countLines(lines: readonly string[], last?: number): StreamAccount {
  const count = new LineCount(lineOf);
  for (const line of lines) count.add(line);
  return count.account(last);
}

await t.test('whole lines, each once and in order', (t) => {
  t.strictSame(countLines(all(1, 2, 3), 3), { lines: 3, last: 3, gaps: [], wrong: [] });
  t.strictSame(countLines([...all(1), '2 oo']), { lines: 1, last: 1, gaps: [], wrong: [] }, 'one is being written');
  t.end();
});

await t.test('what is missing is counted in bytes, without what is there of it', (t) => {
  t.strictSame(countLines(all(1, 4), 5).gaps, [{ after: 1, lines: 2, bytes: 18 }, { after: 4, lines: 1, bytes: 9 }]);
  // "2 oo" and "oo 3\n".
  t.strictSame(countLines([...all(1), '2 oo', 'oo 3', ...all(4)]).gaps, [{ after: 1, lines: 2, bytes: 18 - 4 - 5 }]);
  t.strictSame(countLines(all(2)).gaps, [{ after: 0, lines: 1, bytes: 9 }]);
  t.end();
});

await t.test('twice, out of order, or made of two', (t) => {
  t.match(countLines(all(1, 2, 2)).wrong, [/after 2: "2 oooo 2" again/]);
  t.match(countLines(all(1, 3, 2)).wrong, [/after 3: "2 oooo 2" again/]);
  t.match(countLines([...all(1), '2 ooo 4', ...all(5)]).wrong, [/between 1 and 5: "2 ooo 4"/]);
  t.match(countLines([...all(1), '2 eeee 2', ...all(3)]).wrong, [/between 1 and 3/]);
  t.match(countLines([...all(1), 'oo 1', ...all(2)]).wrong, [/between 1 and 2/]);
  t.end();
});
