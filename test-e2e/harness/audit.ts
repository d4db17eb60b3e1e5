import type { TestNode } from './node.js';
import { here } from './place.js';
import { tryRun } from './run.js';

export interface AuditedHolding {
  readonly kind: string;
  readonly name: string;
  readonly owner: string;
  readonly state: 'owned' | 'orphan' | 'cleaned' | 'failed';
  readonly error?: string;
}

/** What `criquet audit --json` prints, and its exit code. */
export interface Audit {
  readonly code: number;
  readonly daemonPid: number | null;
  readonly counts: Readonly<Record<AuditedHolding['state'], number>>;
  readonly holdings: readonly AuditedHolding[];
  readonly problems: readonly { readonly kind: string; readonly error: string }[];
}

/** Runs `criquet audit` on a node, in the place and with the configuration of its daemon. */
export async function audit(node: TestNode, ...flags: string[]): Promise<Audit> {
  const { criquet } = node;
  if (criquet === undefined) throw new Error('only criquet is audited');
  const { code, stdout, stderr } = await tryRun(
    ...(node.options.place ?? here).command(node.environment.criquetProgram, ['audit', '--json', '--config', criquet.configFile, ...flags]),
  );
  if (stdout === '') throw new Error(`criquet audit: exit code ${code}: ${stderr}`);
  return { code, ...(JSON.parse(stdout) as Omit<Audit, 'code'>) };
}

/** Those of a state, as `kind name`. */
export function named({ holdings }: Audit, state: AuditedHolding['state']): string[] {
  return holdings.filter((holding) => holding.state === state).map(({ kind, name }) => `${kind} ${name}`).sort();
}
