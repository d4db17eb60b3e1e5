import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CHECKOUT } from '../cri-support/checkout.js';
import { OUTCOMES, type Outcome } from './outcome.js';
import { suiteOf, type SuiteName } from './suite.js';

/** Where the committed records are. */
export const RECORDS = join(CHECKOUT, 'docs/conformance');

/** One run of a suite on both runtimes: on the same images, with the same containerd binary, one after the other. */
export interface Record {
  readonly suite: SuiteName;
  /** containerd's version, for example `2.4.2`. */
  readonly containerd: string;
  readonly kubernetes: string;
  /** The commit of criquet. */
  readonly criquet: string;
  /** ISO 8601, to the day. */
  readonly date: string;
  /** The node, in words. */
  readonly node: string;
  /** How long the specs took on each, in seconds. */
  readonly seconds: { readonly criquet: number; readonly containerd: number };
  readonly specs: readonly SpecRecord[];
}

export interface SpecRecord {
  readonly name: string;
  readonly criquet: Outcome;
  readonly containerd: Outcome;
}

const COLUMNS = 'criquet\tcontainerd\tspec';

/** A record as it is kept: its facts as comments, then a line for each spec, by name. */
export function formatRecord(record: Record): string {
  const { suite, containerd, kubernetes, criquet, date, node, seconds, specs } = record;
  const facts = { suite, containerd, kubernetes, criquet, date, node, seconds: `${seconds.criquet} ${seconds.containerd}` };
  const rows = [...specs].sort((a, b) => (a.name < b.name ? -1 : 1)).map((spec) => [spec.criquet, spec.containerd, spec.name].join('\t'));
  return [...Object.entries(facts).map(([key, value]) => `# ${key}: ${value}`), COLUMNS, ...rows, ''].join('\n');
}

/** Throws on what `formatRecord` does not write. */
export function parseRecord(text: string): Record {
  const lines = text.trimEnd().split('\n');
  const start = lines.indexOf(COLUMNS);
  const facts = new Map(lines.slice(0, start).map((line) => [/^# (\w+): /.exec(line)?.[1], line.replace(/^# \w+: /, '')]));
  const fact = (name: string): string => {
    const value = facts.get(name);
    if (value === undefined) throw new Error(`a record without ${name}`);
    return value;
  };
  const [criquet = 0, containerd = 0] = fact('seconds').split(' ').map(Number);
  return {
    suite: suiteOf(fact('suite')).name,
    containerd: fact('containerd'),
    kubernetes: fact('kubernetes'),
    criquet: fact('criquet'),
    date: fact('date'),
    node: fact('node'),
    seconds: { criquet, containerd },
    specs: lines.slice(start + 1).map((line) => {
      const [ours, theirs, name = ''] = line.split('\t');
      return { name, criquet: outcome(ours), containerd: outcome(theirs) };
    }),
  };
}

/** Every record, in the order of the suites' names and of containerd's versions. */
export async function readRecords(): Promise<Record[]> {
  const files = (await readdir(RECORDS).catch((): string[] => [])).filter((name) => name.endsWith('.tsv')).sort();
  return Promise.all(files.map(async (name) => parseRecord(await readFile(join(RECORDS, name), 'utf8'))));
}

/** Writes a record in the place of an earlier one of this suite on this minor version of containerd. */
export async function writeRecord(record: Record): Promise<string> {
  const minor = record.containerd.split('.').slice(0, 2).join('.');
  const file = join(RECORDS, `${record.suite}-containerd-${minor}.tsv`);
  await mkdir(RECORDS, { recursive: true });
  await writeFile(file, formatRecord(record));
  return file;
}

function outcome(text: string | undefined): Outcome {
  const known = OUTCOMES.find((each) => each === text);
  if (known === undefined) throw new Error(`not an outcome: ${text ?? 'nothing'}`);
  return known;
}
