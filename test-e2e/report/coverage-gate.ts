/*
 * Fails unless line and branch coverage of a package exceed a percentage, generated code left out:
 *   node coverage-gate.js PERCENT SUMMARY...   (SUMMARY: tap's `.tap/report/coverage-summary.json`)
 */
import { readFile } from 'node:fs/promises';

interface Counted {
  readonly total: number;
  readonly covered: number;
}

type Summary = Readonly<Record<string, { readonly lines: Counted; readonly branches: Counted }>>;

const [least = '90', ...files] = process.argv.slice(2);
let short = false;
for (const file of files) {
  const summary = JSON.parse(await readFile(file, 'utf8')) as Summary;
  const own = Object.entries(summary).filter(([path]) => path !== 'total' && !path.includes('/src/gen/'));
  const percent = (kind: 'lines' | 'branches'): number => {
    const total = own.reduce((sum, [, counts]) => sum + counts[kind].total, 0);
    const covered = own.reduce((sum, [, counts]) => sum + counts[kind].covered, 0);
    return total === 0 ? 0 : (100 * covered) / total;
  };
  const [lines, branches] = [percent('lines'), percent('branches')];
  const name = /packages\/([^/]+)\//.exec(file)?.[1] ?? file;
  const enough = lines > Number(least) && branches > Number(least);
  console.log(`${enough ? 'ok' : 'not ok'} - ${name}: lines ${lines.toFixed(1)} %, branches ${branches.toFixed(1)} %, more than ${least} % wanted`);
  short ||= !enough;
}
process.exitCode = short ? 1 : 0;
