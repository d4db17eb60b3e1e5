/** Where a function is, as V8 writes it into profiles. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  /** Counted from 0. */
  readonly lineNumber: number;
}

/** A CPU profile (`.cpuprofile`): one node a place in a call tree, samples by node id. */
export interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly samples?: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas?: readonly number[];
}

/** A sampled heap profile (`.heapprofile`): what was allocated, by the place in a call tree. */
export interface HeapProfile {
  readonly head: HeapNode;
}

export interface HeapNode {
  readonly callFrame: CallFrame;
  /** Bytes. */
  readonly selfSize: number;
  readonly children: readonly HeapNode[];
}

/** What a function took itself, without what it called. */
export interface SelfCost {
  readonly callFrame: CallFrame;
  /** Microseconds or bytes. */
  readonly self: number;
}

/** Not work of the program: the processor had nothing to do for it. */
const IDLE = '(idle)';

export function cpuCosts({ nodes, samples = [], timeDeltas = [] }: CpuProfile): SelfCost[] {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const costs = samples.flatMap((id, index) => {
    const callFrame = frames.get(id);
    return callFrame === undefined || callFrame.functionName === IDLE ? [] : [{ callFrame, self: Math.max(0, timeDeltas[index] ?? 0) }];
  });
  return byFunction(costs);
}

export function heapCosts({ head }: HeapProfile): SelfCost[] {
  const costs: SelfCost[] = [];
  const open = [head];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    costs.push({ callFrame: node.callFrame, self: node.selfSize });
    open.push(...node.children);
  }
  return byFunction(costs);
}

/** The package, or what else a function belongs to: `@criquet/shim-server`, `@grpc/grpc-js`, `node`, `(garbage collector)`. */
export function packageOf({ url, functionName }: CallFrame): string {
  const installed = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (installed !== undefined) return installed;
  const own = /\/packages\/([^/]+)\//.exec(url)?.[1];
  if (own !== undefined) return `@criquet/${own}`;
  if (url.startsWith('node:')) return 'node';
  // What V8 has no source of: its own states are in brackets, other names are built in.
  return url === '' && !functionName.startsWith('(') ? 'built in' : functionName || 'unknown';
}

/** `name file:line`, the file without what is before its package's own directories. */
export function placeOf({ functionName, url, lineNumber }: CallFrame): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name}  ${url.replace(/^.*\/(node_modules|packages)\//, '').replace(/^file:\/\//, '')}:${lineNumber + 1}`;
}

/** Costs added up by some name, the greatest first. */
export function addUp(costs: readonly SelfCost[], nameOf: (frame: CallFrame) => string): [name: string, self: number][] {
  const sums = new Map<string, number>();
  for (const { callFrame, self } of costs) sums.set(nameOf(callFrame), (sums.get(nameOf(callFrame)) ?? 0) + self);
  return [...sums].sort(([, a], [, b]) => b - a);
}

function byFunction(costs: readonly SelfCost[]): SelfCost[] {
  const sums = new Map<string, SelfCost>();
  for (const { callFrame, self } of costs) {
    const key = `${callFrame.url}:${callFrame.lineNumber}:${callFrame.functionName}`;
    sums.set(key, { callFrame, self: (sums.get(key)?.self ?? 0) + self });
  }
  return [...sums.values()].sort((a, b) => b.self - a.self);
}
