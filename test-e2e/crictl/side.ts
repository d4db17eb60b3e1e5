import type { TestNode } from '../harness/node.js';
import type { Crictl } from './crictl.js';

/** One of two nodes whose outputs are compared, and what is told apart by name only there. */
export class Side {
  private readonly names = new Map<string, string>();

  constructor(
    readonly node: TestNode,
    readonly crictl: Crictl,
  ) {
    this.name(node.directory, '<node>');
    this.name(node.cgroupParent, '<cgroup>');
    this.name(node.network.name, '<network>');
    this.name(node.network.bridge, '<bridge>');
    this.name(node.network.subnet.replace(/0\/24$/, ''), '<subnet>.');
  }

  /** Gives an id (and its short form) or another private word the same name on both sides. */
  name(id: string, name: string): void {
    this.names.set(id, name);
    if (/^[0-9a-f]{64}$/.test(id)) this.names.set(id.slice(0, 13), name);
  }

  /** Text as it must be on both sides: names for private words; times, ages and process ids by their shape. */
  normalise(text: string): string {
    let result = text;
    // The longest first: an endpoint is below the node's directory.
    for (const [id, name] of [...this.names].sort(([a], [b]) => b.length - a.length)) result = result.replaceAll(id, name);
    return result
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?\+0000 UTC|Z|[+-]\d\d:\d\d)/g, '<time>')
      .replace(/\b1[789]\d{17}\b/g, '<time>')
      .replace(/\b(?:Less than a second|About a minute|\d+ (?:seconds?|minutes?)) ago\b/g, '<ago>')
      .replace(/\/proc\/\d+\//g, '/proc/<pid>/')
      .replace(/\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b/g, '<mac>')
      .replace(/\bveth[0-9a-f]{8}\b/g, '<veth>');
  }
}
