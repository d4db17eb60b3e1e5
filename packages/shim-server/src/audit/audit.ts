import { setTimeout as pause } from 'node:timers/promises';
import { toStatus } from '../grpc/status.js';
import type { DaemonIdentity } from '../runtime/daemon-identity.js';
import { orAbort } from '../state/keyed-mutex.js';
import { HOLDING_KINDS, type Holding, type HoldingKind, type HoldingSource, type Owner } from './holding.js';
import type { OwnerLookup, Standing } from './owner-lookup.js';

/** `cleaned` and `failed` are orphans that were to be removed. */
export type HoldingState = 'owned' | 'orphan' | 'cleaned' | 'failed';

export interface AuditedHolding {
  readonly kind: HoldingKind;
  readonly name: string;
  /** The id of a sandbox or container, `daemon` and an instance, or `nobody`. */
  readonly owner: string;
  readonly state: HoldingState;
  /** Why it could not be removed. */
  readonly error?: string;
}

/** A kind that could not be looked at; nothing is said of it, and the report is not whole. */
export interface AuditProblem {
  readonly kind: HoldingKind;
  readonly error: string;
}

export interface AuditReport {
  /** In the order of the kinds. */
  readonly holdings: readonly AuditedHolding[];
  readonly problems: readonly AuditProblem[];
}

export interface AuditOptions {
  readonly sources: readonly HoldingSource[];
  readonly owners: OwnerLookup;
  /** The daemon that lives at the moment. */
  readonly daemon: () => Promise<DaemonIdentity | undefined>;
  /** Ids that certainly are not gone; they are not asked for. Default: none. */
  readonly known?: (id: string) => boolean;
  /** Milliseconds between the two looks. Default 1000. */
  readonly betweenLooksMs?: number;
}

export interface AuditRun {
  /** Whether orphans are removed. */
  readonly clean: boolean;
  readonly signal: AbortSignal;
}

const BETWEEN_LOOKS_MS = 1_000;
/** How long one kind may take to be looked at, and one thing to be removed. */
const LIST_MS = 60_000;
const REMOVE_MS = 90_000;
/** Removing a container's record makes orphans of what only it owned. */
const PASSES = 2;

interface Look {
  readonly holdings: readonly Judged[];
  readonly problems: readonly AuditProblem[];
}

interface Judged {
  readonly holding: Holding;
  readonly owned: boolean;
}

/**
 * Compares what is on the node with who may own it.
 *
 * It is right beside a daemon at work because a record is written before anything that it names is made, and goes after it: what is seen first has a record
 * when the records are read afterwards, unless its owner went away in between; then it is gone itself at the second look.
 */
export class Audit {
  constructor(private readonly options: AuditOptions) {}

  /** @throws ContainerdError when containerd cannot be asked for the records */
  async run({ clean, signal }: AuditRun): Promise<AuditReport> {
    const report = await this.pass(clean, signal);
    const results = new Map(report.holdings.map((holding) => [keyOf(holding), holding]));
    const problems = [...report.problems];
    const cleaned = (reports: readonly AuditedHolding[]) => reports.some(({ kind, state }) => kind === 'container' && state === 'cleaned');
    for (let pass = 1, last = report.holdings; pass < PASSES && cleaned(last); pass += 1) {
      const again = await this.pass(clean, signal);
      last = again.holdings;
      for (const holding of last) if (holding.state !== 'owned') results.set(keyOf(holding), holding);
      problems.push(...again.problems);
    }
    const order = (kind: HoldingKind) => HOLDING_KINDS.indexOf(kind);
    return { holdings: [...results.values()].sort((a, b) => order(a.kind) - order(b.kind)), problems };
  }

  private async pass(clean: boolean, signal: AbortSignal): Promise<AuditReport> {
    const { sources, betweenLooksMs = BETWEEN_LOOKS_MS } = this.options;
    const first = await this.look(sources, signal);
    const suspects = new Set(first.holdings.filter(({ owned }) => !owned).map(({ holding }) => holding.kind));
    if (suspects.size === 0) return { holdings: first.holdings.map(({ holding }) => shown(holding, 'owned')), problems: first.problems };
    await pause(betweenLooksMs, undefined, { signal });
    // What is certain of one kind may tell of another.
    const second = await this.look(sources, signal);
    const before = new Set(first.holdings.filter(({ owned }) => !owned).map(({ holding }) => ownedKeyOf(holding)));
    const audited: AuditedHolding[] = [];
    for (const { holding, owned } of inOrder(second.holdings)) {
      if (owned) audited.push(shown(holding, 'owned'));
      // One that came up just now is not judged by one look.
      else if (before.has(ownedKeyOf(holding))) audited.push(clean ? await this.removed(holding, signal) : shown(holding, 'orphan'));
    }
    return { holdings: audited, problems: second.problems };
  }

  /** What is there first, and then who owns it. What is somebody else's is left out. */
  private async look(sources: readonly HoldingSource[], signal: AbortSignal): Promise<Look> {
    const problems: AuditProblem[] = [];
    const listed = await Promise.all(
      sources.map(async ({ kind, list }) => {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]);
        return orAbort(list(limit), limit).catch((error: unknown): Holding[] => {
          signal.throwIfAborted();
          problems.push({ kind, error: toStatus(error).message });
          return [];
        });
      }),
    );
    const holdings = listed.flat();
    const { known = () => false } = this.options;
    const objects = holdings.flatMap(({ owner, certain }) => ('object' in owner ? [{ id: owner.object, certain }] : []));
    const ids = objects.map(({ id }) => id).filter((id) => !known(id));
    const [standings, daemon] = await Promise.all([this.options.owners.standings(ids, signal), this.options.daemon()]);
    const standing = (id: string): Standing => (known(id) ? 'criquet' : (standings.get(id) ?? 'nobody'));
    const proven = new Set(objects.filter(({ id, certain }) => certain && standing(id) === 'nobody').map(({ id }) => id));
    const judged = holdings.flatMap((holding): Judged[] => {
      const { owner, certain } = holding;
      if ('nobody' in owner) return [{ holding, owned: false }];
      if ('daemon' in owner) return [{ holding, owned: daemon !== undefined && (owner.daemon === 'living' || owner.daemon === daemon.instance) }];
      const whose = standing(owner.object);
      if (whose === 'criquet') return [{ holding, owned: true }];
      return whose === 'nobody' && (certain || proven.has(owner.object)) ? [{ holding, owned: false }] : [];
    });
    return { holdings: judged, problems };
  }

  /** Each alone: one that cannot be removed does not keep the others. */
  private async removed(holding: Holding, signal: AbortSignal): Promise<AuditedHolding> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(REMOVE_MS)]);
    try {
      await orAbort(holding.remove(limit), limit);
      return shown(holding, 'cleaned');
    } catch (error) {
      signal.throwIfAborted();
      return { ...shown(holding, 'failed'), error: toStatus(error).message };
    }
  }
}

function inOrder(holdings: readonly Judged[]): Judged[] {
  return [...holdings].sort((a, b) => HOLDING_KINDS.indexOf(a.holding.kind) - HOLDING_KINDS.indexOf(b.holding.kind));
}

function keyOf({ kind, name }: { readonly kind: HoldingKind; readonly name: string }): string {
  return `${kind} ${name}`;
}

/** A path may have been one pod's at the first look and another's at the second. */
function ownedKeyOf(holding: Holding): string {
  return `${keyOf(holding)} ${ownerInWords(holding.owner)}`;
}

function shown({ kind, name, owner }: Holding, state: HoldingState): AuditedHolding {
  return { kind, name, owner: ownerInWords(owner), state };
}

function ownerInWords(owner: Owner): string {
  if ('nobody' in owner) return 'nobody';
  return 'object' in owner ? owner.object : `daemon ${owner.daemon}`;
}
