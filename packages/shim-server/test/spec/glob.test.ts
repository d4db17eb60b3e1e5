import { test } from 'tap';
import { isGlob, matchesGlob } from '../../src/spec/glob.js';

// Cases of Go's documentation of path.Match, and of the names that annotations have.
const CASES: readonly [pattern: string, text: string, matches: boolean][] = [
  ['abc', 'abc', true],
  ['*', 'abc', true],
  ['*c', 'abc', true],
  ['a*', 'ab/c', false],
  ['a*/b', 'abc/b', true],
  ['a*/b', 'a/c/b', false],
  ['a?b', 'a/b', false],
  ['a[^a]b', 'axb', true],
  ['a[^a]b', 'aab', false],
  ['[a-ζ]*', 'α', true],
  ['[\\]a]', ']', true],
  ['[\\-]', '-', true],
  ['[x\\-]', 'x', true],
  ['[x\\-]', 'z', false],
  ['[\\-x]', '-', true],
  ['a\\*b', 'a*b', true],
  ['a\\*b', 'axb', false],
  ['io.example.*', 'io.example.gpu', true],
  ['io.example.*', 'ioXexample.gpu', false],
  ['io.example.*', 'io.example.gpu/count', false],
  ['*.example.com/[a-c]*', 'x.example.com/count', true],
  ['io.example/a+b(c)', 'io.example/a+b(c)', true],
  ['', '', true],
  ['', 'a', false],
  [']', ']', true],
];

test('globs are read as Go reads them', async (t) => {
  for (const [pattern, text, matches] of CASES) {
    t.ok(isGlob(pattern), pattern);
    t.equal(matchesGlob(pattern, text), matches, `${pattern} ${text}`);
  }
});

test('what Go calls a bad pattern matches nothing', async (t) => {
  for (const pattern of ['[]', '[', '[^', '[^bc', '[-]', '[x-]', '[-x]', '[a-b-c]', '[z-a]', 'a[', '\\', 'a\\']) {
    t.notOk(isGlob(pattern), pattern);
    t.notOk(matchesGlob(pattern, 'a'), pattern);
  }
});
