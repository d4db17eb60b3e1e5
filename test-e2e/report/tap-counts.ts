/** Assertions of a TAP stream. */
export interface TapCounts {
  readonly passed: number;
  readonly failed: number;
  /** Skipped or still to do. */
  readonly skipped: number;
}

/** A line `ok` or `not ok` with the YAML block below it. */
interface Point {
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** It is the closing line of a subtest, not an assertion of its own. */
  readonly closes: boolean;
  readonly lines: readonly string[];
}

const POINT = /^ *(not )?ok\b[^#]*(?:#\s*(skip|todo)\b)?/i;
const EMPTY_PLAN = /^ *1\.\.0\s*(#.*)?$/;

/**
 * Counts the assertions of a TAP 14 stream: test points that are not the closing line of a subtest, at any depth. A
 * skipped subtest counts one; a bail-out is a failure.
 */
export function countTap(stream: string): TapCounts {
  const count = { passed: 0, failed: 0, skipped: 0 };
  for (const point of points(stream)) {
    if (!point.closes) count[point.outcome]++;
  }
  return count;
}

/** Every failed assertion with its YAML block, for a reader. */
export function failedAssertions(stream: string): string[] {
  return [...points(stream)].filter(({ outcome, closes }) => outcome === 'failed' && !closes).map(({ lines }) => lines.join('\n'));
}

const BRIEF_LINES = 24;

/** The first lines of every failed assertion, without what a stack has of libraries, and below them the first line of what they made fail: subtests and files. */
export function briefFailures(stream: string): string[] {
  const failed = [...points(stream)].filter(({ outcome }) => outcome === 'failed');
  return failed.map(({ closes, lines }) => (closes ? `in: ${lines[0] ?? ''}` : lines.filter((line) => !line.includes('node_modules')).slice(0, BRIEF_LINES).join('\n')));
}

function* points(stream: string): Generator<Point> {
  const lines = stream.split('\n');
  /** Depths at which something was seen since the last point of a lower depth: that point closes them. */
  let open: number[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const depth = line.length - line.trimStart().length;
    if (/^ *Bail out!/.test(line)) {
      yield { outcome: 'failed', closes: false, lines: [line] };
      continue;
    }
    if (EMPTY_PLAN.test(line)) {
      open.push(depth);
      continue;
    }
    const point = POINT.exec(line);
    if (point === null) continue;
    const end = endOfBlock(lines, at, depth);
    const skipped = point[2] !== undefined;
    const closes = open.some((other) => other > depth);
    open = [...open.filter((other) => other < depth), depth];
    yield {
      outcome: skipped ? 'skipped' : point[1] === undefined ? 'passed' : 'failed',
      closes,
      lines: lines.slice(at, end).map((text) => text.slice(depth)),
    };
    at = end - 1;
  }
}

/** The index behind the YAML block that may follow a point. */
function endOfBlock(lines: readonly string[], at: number, depth: number): number {
  const indent = ' '.repeat(depth + 2);
  if (lines[at + 1] !== `${indent}---`) return at + 1;
  const end = lines.indexOf(`${indent}...`, at);
  return end < 0 ? lines.length : end + 1;
}
