import t from 'tap';
import { briefFailures, countTap, failedAssertions } from './tap-counts.js';

const STREAM = `TAP version 14
1..3
# Subtest: first.test.js
    # Subtest: a group
        ok 1 - one
        not ok 2 - two
          ---
          diff: |
            not ok 9 - text in a YAML block
          at:
            lineNumber: 3
          ...
        ok 3 - three # SKIP no reason
        1..3
    not ok 1 - a group # time=1ms
      ---
      at: {}
      ...
    ok 2 - alone
    1..2
not ok 1 - first.test.js # time=5ms
# Subtest: second.test.js
    1..0 # no tests found
ok 2 - second.test.js # SKIP no tests found
ok 3 - without a subtest
`;

t.test('assertions are counted once, subtests and YAML are not', async (t) => {
  t.strictSame(countTap(STREAM), { passed: 3, failed: 1, skipped: 1 });
});

t.test('a bail-out is a failure', async (t) => {
  t.strictSame(countTap('TAP version 14\nok 1 - a\nBail out! no more\n'), { passed: 1, failed: 1, skipped: 0 });
});

t.test('a skipped group counts one', async (t) => {
  t.strictSame(countTap('# Subtest: x\n    ok 1 - about criquet itself # SKIP\n    1..1\nok 1 - x\n1..1\n'), {
    passed: 0,
    failed: 0,
    skipped: 1,
  });
});

t.test('failed assertions are shown with their block', async (t) => {
  const shown = failedAssertions(STREAM);
  t.equal(shown.length, 1, 'not its group, not its file');
  t.match(shown[0], /^not ok 2 - two\n {2}---\n {2}diff/);
});

t.test('in brief: the beginning of each, and what it made fail', async (t) => {
  const long = ['not ok 1 - long', '  ---', ...Array.from({ length: 60 }, (_, line) => (line % 2 === 0 ? `  line${line}: x` : `  f (../node_modules/x.js:${line})`)), '  ...'].join('\n');
  t.strictSame(briefFailures(STREAM).map((text) => text.split('\n')[0]), ['not ok 2 - two', 'in: not ok 1 - a group # time=1ms', 'in: not ok 1 - first.test.js # time=5ms']);
  t.equal(briefFailures(`TAP version 14\n${long}\n1..1\n`)[0]?.split('\n').at(-1), '  line42: x');
});
