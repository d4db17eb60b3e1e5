import type * as z from 'zod';
import { isTable } from './camel-case.js';
import type { ConfigProblem } from './config-error.js';
import { allowed, knownKeys, typeAt } from './describe.js';

/** Turns what the schema objects to into lines that name the source, the key and what is allowed. */
export function problemsOf(issues: readonly z.core.$ZodIssue[], input: unknown, source: string): ConfigProblem[] {
  const problems = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? unknownKeys(issue, source) : [wrongValue(issue, input, source)]));
  // Several entries of one list may be wrong in a way that is said of the list.
  return [...new Map(problems.map((problem) => [JSON.stringify([problem.key, problem.message]), problem])).values()];
}

function unknownKeys(issue: z.core.$ZodIssueUnrecognizedKeys, source: string): ConfigProblem[] {
  const type = typeAt(issue.path);
  const known = (type === undefined ? undefined : knownKeys(type)) ?? [];
  return issue.keys.map((name) => {
    const near = nearest(name, known);
    const hint = near === undefined ? '' : `, did you mean ${near}?`;
    return { source, key: dotted([...issue.path, name]), message: `unknown key${hint}; allowed here: ${known.join(', ')}` };
  });
}

function wrongValue(issue: z.core.$ZodIssue, input: unknown, source: string): ConfigProblem {
  // A list is one key: what is wrong with an element is said of the list.
  const path = issue.path.filter((name) => typeof name !== 'number');
  const type = typeAt(path);
  const expected = type === undefined ? 'another value' : allowed(type);
  if (issue.code === 'custom' && typeof issue.params?.entry === 'number') {
    const { entry, written: text } = issue.params;
    return { source, key: dotted(path), message: `entry ${entry + 1}, ${JSON.stringify(text)}: ${issue.message}; expected ${expected}` };
  }
  return { source, key: dotted(path), message: `expected ${expected}, got ${written(valueAt(input, path))}` };
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, name) => (isTable(value) ? value[String(name)] : undefined), input);
}

function written(value: unknown): string {
  if (isTable(value)) return 'a table';
  return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'nothing');
}

function dotted(path: readonly PropertyKey[]): string {
  return path.map((name) => (/^[A-Za-z0-9_-]+$/.test(String(name)) ? String(name) : JSON.stringify(String(name)))).join('.');
}

/** The known name that a misspelt one most likely means: at most two edits away. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const ranked = known.map((candidate) => ({ candidate, edits: editDistance(name, candidate) }));
  ranked.sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best !== undefined && best.edits <= 2 ? best.candidate : undefined;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
