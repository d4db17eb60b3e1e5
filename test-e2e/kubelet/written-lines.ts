import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LineCount, type LineOf, type StreamAccount } from '../harness/counted-lines.js';
import { LineJoiner, parseLogRecords } from '../harness/log-records.js';
import type { Side } from './side.js';

/** The lines that a pod's container `main` wrote to its standard output, in its rotated logs too. */
export async function writtenLines(side: Side, name: string, lineOf: LineOf): Promise<StreamAccount> {
  const { metadata } = await side.pod(name);
  const directory = side.machine.room.outside(`/var/log/pods/default_${metadata.name}_${metadata.uid}/main`);
  const joiner = new LineJoiner('stdout');
  const count = new LineCount(lineOf);
  // The one that is written to has no time in its name.
  const files = (await readdir(directory)).filter((entry) => /\.log(\.\d{8}-\d{6})?$/.test(entry)).sort((a, b) => b.length - a.length || a.localeCompare(b));
  for (const file of files) {
    const text = await readFile(join(directory, file), 'utf8');
    for (const record of parseLogRecords(text.slice(0, text.lastIndexOf('\n') + 1), file)) {
      const line = joiner.add(record);
      if (line !== undefined) count.add(line);
    }
  }
  return count.account();
}
