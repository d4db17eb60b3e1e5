import { mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { here, type Place } from '../harness/place.js';
import { tryRun } from '../harness/run.js';
import { parseJunit, type SpecResult } from '../report/junit.js';

/** Which specs of a program are meant. */
export interface Choice {
  /** Ginkgo's label filter. */
  readonly labels: string;
  /** Regular expressions, one of which a name must match. Default: every name. */
  readonly focus?: readonly string[];
  /** Regular expressions, none of which a name may match. */
  readonly skip?: readonly string[];
}

export interface GinkgoRun {
  /** The `ginkgo` command. */
  readonly ginkgo: string;
  /** A compiled suite. */
  readonly program: string;
  /** Programs that it looks for where it is itself. */
  readonly beside?: readonly string[];
  readonly choice: Choice;
  /** The suite's own arguments. */
  readonly args: readonly string[];
  /** Processes; serial specs run alone, after the others. */
  readonly procs: number;
  /** Where its report `junit_01.xml` and what the suite itself writes go. */
  readonly directory: string;
  /** File for its output. */
  readonly output: string;
  /** Directories put before the PATH. */
  readonly tools: readonly string[];
  /** Minutes after which it interrupts itself. */
  readonly minutes: number;
  /** Where it runs. Default: the namespaces of this process. */
  readonly place?: Place;
}

const REPORT = 'junit_01.xml';

/** Runs a suite of Kubernetes' and returns each spec that its report has, also those that were not chosen. */
export async function runGinkgo(options: GinkgoRun): Promise<SpecResult[]> {
  const { ginkgo, choice, procs, directory, output, tools, minutes, place = here } = options;
  for (const program of options.beside ?? []) await programIn(directory, program);
  const program = await programIn(directory, options.program);
  await rm(join(directory, REPORT), { force: true });
  const args = [
    'run',
    `--procs=${procs}`,
    '--no-color',
    `--timeout=${minutes}m`,
    '--grace-period=60s',
    ...choiceArguments('--', choice),
    program,
    '--',
    `--report-dir=${directory}`,
    ...options.args,
  ];
  const { code } = await inDirectory(directory, output, place, ginkgo, args, tools, minutes + 5);
  return readReport(directory, output, `ginkgo ended with code ${code} and wrote no report`);
}

export type SpecList = Pick<GinkgoRun, 'program' | 'choice' | 'directory'>;

/** Names of the specs of a program that a choice takes; runs none of them. */
export async function listSpecs({ program, choice, directory }: SpecList): Promise<string[]> {
  const output = join(directory, 'list.log');
  const args = [...choiceArguments('--ginkgo.', choice), '--ginkgo.dry-run', `--report-dir=${directory}`];
  await rm(join(directory, REPORT), { force: true });
  const { code } = await inDirectory(directory, output, here, await programIn(directory, program), args, [], 5);
  const specs = await readReport(directory, output, `${basename(program)} ended with code ${code} and listed nothing`);
  return specs.filter(({ outcome }) => outcome === 'passed').map(({ name }) => name).sort();
}

/** A regular expression, as Go reads them, of this very text. */
export function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** A suite writes into its program's directory: it gets one of its own. */
async function programIn(directory: string, program: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const link = join(directory, basename(program));
  await rm(link, { force: true });
  await symlink(program, link);
  return link;
}

function choiceArguments(prefix: string, { labels, focus = [], skip = [] }: Choice): string[] {
  const each = (name: string, values: readonly string[]) => values.map((value) => `${prefix}${name}=${value}`);
  return [`${prefix}label-filter=${labels}`, ...each('focus', focus), ...each('skip', skip)];
}

/** Its output is long and goes to a file by way of a shell, not through this process. */
function inDirectory(
  directory: string,
  output: string,
  place: Place,
  program: string,
  args: readonly string[],
  tools: readonly string[],
  minutes: number,
): Promise<{ code: number }> {
  const shell = 'cd "$1"; output=$2; shift 2; exec "$@" >"$output" 2>&1';
  return tryRun(...place.command('sh', ['-ec', shell, 'suite', directory, output, program, ...args]), {
    timeoutMs: minutes * 60_000,
    env: { PATH: [...tools, process.env.PATH ?? ''].join(':'), TMPDIR: directory },
  });
}

async function readReport(directory: string, output: string, absent: string): Promise<SpecResult[]> {
  const xml = await readFile(join(directory, REPORT), 'utf8').catch(() => undefined);
  if (xml === undefined) throw new Error(`${absent}: ${reasonIn(await readFile(output, 'utf8'))}`);
  return parseJunit(xml, { labelsAfterName: false });
}

/** What a Go program says when it dies, or else its last words. */
function reasonIn(output: string): string {
  return /^panic: (.*)$/m.exec(output)?.[1] ?? output.trimEnd().split('\n').slice(-5).join('\n');
}
