import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SpecResult } from '../report/junit.js';
import { RESULT_FILES, type StepOutcome } from './guest-job.js';

/** How the steps of a job went; empty when the guest came to none. */
export async function readOutcomes(directory: string): Promise<StepOutcome[]> {
  return readJson<StepOutcome[]>(join(directory, RESULT_FILES.outcomes), []);
}

/** What critest's JUnit report said in a step; empty when there was none. */
export async function readCritestResults(directory: string, step: string): Promise<SpecResult[]> {
  return readJson<SpecResult[]>(join(directory, `${step}.json`), []);
}

async function readJson<T>(file: string, absent: T): Promise<T> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? absent : (JSON.parse(text) as T);
}
