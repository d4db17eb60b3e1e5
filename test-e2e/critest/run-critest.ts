import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findTool } from '../harness/environment.js';
import type { TestNode } from '../harness/node.js';
import { tryRun } from '../harness/run.js';
import { parseJunit, type SpecResult } from '../report/junit.js';

export interface CritestOptions {
  /** Regular expression of spec names to run. Default: all but the benchmarks, which critest leaves out by itself. */
  readonly focus?: string;
  /** Ginkgo processes; specs marked serial run alone all the same, after the others. Default 1. */
  readonly parallel?: number;
  /** Stream over WebSocket instead of SPDY. */
  readonly websocket?: boolean;
  /** Default: 15 minutes. */
  readonly timeoutMs?: number;
  /** Where its whole output goes. Default: `critest.log` in the node's directory. */
  readonly logFile?: string;
}

export interface CritestRun {
  /** Each spec of critest; with a focus only those that it chooses. */
  readonly results: readonly SpecResult[];
  /** How long critest took. */
  readonly seconds: number;
}

/** Runs critest, as it was built, against a node's endpoint. */
export async function runCritest(node: TestNode, options: CritestOptions = {}): Promise<CritestRun> {
  const critest = await findTool(node.environment, 'critest');
  if (critest === undefined) throw new Error('critest is not there: it is built with Go');
  const report = join(node.directory, 'critest.xml');
  await rm(report, { force: true });
  const log = options.logFile ?? join(node.directory, 'critest.log');
  // Its temporary directories, some of which it leaves, go with the node.
  const temporary = join(node.directory, 'critest');
  await mkdir(temporary, { recursive: true });
  const { parallel = 1, focus } = options;
  const began = Date.now();
  // Its output is long and goes to a file by way of a shell, not through this process.
  const result = await tryRun(
    'sh',
    [
      '-c',
      'log=$1; shift; exec "$@" >"$log" 2>&1',
      'critest',
      log,
      critest,
      `-runtime-endpoint=${node.endpoint}`,
      `-image-endpoint=${node.endpoint}`,
      `-ginkgo.junit-report=${report}`,
      '-ginkgo.no-color',
      ...(options.websocket === true ? ['-websocket-exec', '-websocket-attach', '-websocket-portforward'] : []),
      ...(focus === undefined ? [] : [`-ginkgo.focus=${focus}`]),
      // One process is critest's own way; it refuses to be told so.
      ...(parallel > 1 ? [`-parallel=${parallel}`] : []),
    ],
    {
      timeoutMs: options.timeoutMs ?? 900_000,
      env: { PATH: [...node.environment.tools, process.env.PATH ?? ''].join(':'), TMPDIR: temporary },
    },
  );
  const seconds = (Date.now() - began) / 1000;
  const xml = await readFile(report, 'utf8').catch(() => undefined);
  if (xml === undefined) throw new Error(`critest ended with code ${result.code} and wrote no report; see ${log}`);
  // Specs that the focus left out are reported as skipped, without a message of their own.
  const chosen = focus === undefined ? undefined : new RegExp(focus);
  return { results: parseJunit(xml).filter((spec) => chosen === undefined || chosen.test(spec.name)), seconds };
}
