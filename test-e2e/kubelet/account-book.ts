import { flatten } from '../crictl/flatten.js';
import type { Side } from './side.js';

/** A difference that is meant. */
export interface KnownDifference {
  /** The subject that a side told, then the path in it: `pods/limits containerStatuses[0].resources`. */
  readonly at: RegExp;
  readonly why: string;
  /** Not with every containerd or on every machine, so that its absence is no fault. */
  readonly sometimes?: boolean;
}

export interface Difference {
  readonly at: string;
  readonly criquet: string;
  readonly containerd: string;
}

/** Compares what two sides told, leaf by leaf, with ids, addresses and times by their shape. */
export class AccountBook {
  readonly differences: Difference[] = [];
  private readonly used = new Set<KnownDifference>();

  constructor(
    private readonly criquet: Side,
    private readonly yardstick: Side,
    private readonly known: readonly KnownDifference[],
  ) {}

  compare(): void {
    const subjects = new Set([...this.criquet.account.keys(), ...this.yardstick.account.keys()]);
    for (const subject of [...subjects].sort()) {
      const [own, theirs] = [this.criquet, this.yardstick].map((side) => leaves(side, side.account.get(subject)));
      if (own?.size === 0 || theirs?.size === 0) {
        this.leaf(subject, `${own?.size} answers`, `${theirs?.size} answers`);
        continue;
      }
      for (const path of new Set([...(own?.keys() ?? []), ...(theirs?.keys() ?? [])])) {
        this.leaf(`${subject} ${path}`.trimEnd(), own?.get(path) ?? '<none>', theirs?.get(path) ?? '<none>');
      }
    }
  }

  /** Known differences that did not occur: the list must be true. */
  unused(): KnownDifference[] {
    return this.known.filter((difference) => !this.used.has(difference) && difference.sometimes !== true);
  }

  private leaf(at: string, criquet: string, containerd: string): void {
    if (criquet === containerd) return;
    const known = this.known.filter((difference) => difference.at.test(at));
    for (const difference of known) this.used.add(difference);
    if (known.length === 0) this.differences.push({ at, criquet, containerd });
  }
}

function leaves(side: Side, answer: unknown): Map<string, string> {
  if (answer === undefined) return new Map();
  const name = (text: string): string => sameNames(side, text);
  return new Map([...flatten(answer, name)].map(([path, leaf]) => [path, name(String(leaf))]));
}

/** Text as it must be on every side. */
function sameNames(side: Side, text: string): string {
  const { room, node } = side.machine;
  const words: [string, string][] = [
    [node.directory, '<node>'],
    [node.cgroupParent, '<cgroup>'],
    [room.address, '<address>'],
    [node.network.bridge, '<bridge>'],
    [node.network.subnet.replace(/0\/24$/, ''), '<subnet>.'],
    [`${side.runtime}://`, '<runtime>://'],
  ];
  return words
    .reduce((result, [word, stands]) => result.replaceAll(word, stands), text)
    .replace(/<subnet>\.\d+/g, '<pod>')
    .replace(/(?<![:0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g, '<id>')
    .replace(/\bpod[0-9a-f]{32}\b/g, 'pod<uid>')
    .replace(/\b[0-9a-f]{32}\b/g, '<uid>')
    .replace(/\bveth[0-9a-f]{8}\b/g, '<veth>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, '<time>');
}
