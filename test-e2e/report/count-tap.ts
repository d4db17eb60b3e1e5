/*
 * Prints "PASSED FAILED SKIPPED" of TAP files; with --failures their failed assertions, with --brief the beginning of each:
 *   node count-tap.js [--failures | --brief] FILE...
 */
import { readFile } from 'node:fs/promises';
import { briefFailures, countTap, failedAssertions } from './tap-counts.js';

const args = process.argv.slice(2);
const show = { '--failures': failedAssertions, '--brief': briefFailures }[args[0] ?? ''];
let [passed, failed, skipped] = [0, 0, 0];
for (const file of show === undefined ? args : args.slice(1)) {
  const stream = await readFile(file, 'utf8');
  if (show !== undefined) {
    for (const point of show(stream)) console.log(point);
    continue;
  }
  const counts = countTap(stream);
  passed += counts.passed;
  failed += counts.failed;
  skipped += counts.skipped;
}
if (show === undefined) console.log(`${passed} ${failed} ${skipped}`);
