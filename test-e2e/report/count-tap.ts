/* Prints "PASSED FAILED SKIPPED" of TAP files; with --failures their failed assertions: node count-tap.js [--failures] FILE... */
import { readFile } from 'node:fs/promises';
import { countTap, failedAssertions } from './tap-counts.js';

const args = process.argv.slice(2);
const showFailures = args[0] === '--failures';
let [passed, failed, skipped] = [0, 0, 0];
for (const file of showFailures ? args.slice(1) : args) {
  const stream = await readFile(file, 'utf8');
  if (showFailures) {
    for (const point of failedAssertions(stream)) console.log(point);
    continue;
  }
  const counts = countTap(stream);
  passed += counts.passed;
  failed += counts.failed;
  skipped += counts.skipped;
}
if (!showFailures) console.log(`${passed} ${failed} ${skipped}`);
