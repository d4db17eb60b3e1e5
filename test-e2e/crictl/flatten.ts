export type Leaf = string | number | boolean | null;

/** Lists whose order means nothing, by the path within a member that tells it apart; none: the member itself. */
const UNORDERED: Readonly<Record<string, readonly string[]>> = {
  namespaces: ['type'],
  mounts: ['destination'],
  maskedPaths: [],
  readonlyPaths: [],
  conditions: ['type'],
  containers: ['attributes', 'metadata', 'name'],
  containersStatuses: ['metadata', 'name'],
};

/**
 * The leaves of a JSON value by their paths: `status.labels.app`, `items[0].id`. Members of an unordered list go by their key
 * (`mounts{/proc}.type`), and several with the same by their number. An empty list or object is a leaf of its own.
 */
export function flatten(value: unknown, key = (text: string) => text): Map<string, Leaf | '[]' | '{}'> {
  const leaves = new Map<string, Leaf | '[]' | '{}'>();
  const visit = (path: string, name: string, node: unknown): void => {
    if (Array.isArray(node)) {
      if (node.length === 0) leaves.set(path, '[]');
      const by = UNORDERED[name];
      const seen = new Map<string, number>();
      node.forEach((member: unknown, index) => {
        if (by === undefined) return visit(`${path}[${index}]`, '', member);
        const own = String(by.reduce<unknown>((inner, part) => (inner as Record<string, unknown> | undefined)?.[part], member));
        const count = seen.get(own) ?? 0;
        seen.set(own, count + 1);
        visit(`${path}{${key(own)}}${count === 0 ? '' : `#${count}`}`, '', member);
      });
    } else if (typeof node === 'object' && node !== null) {
      const members = Object.entries(node);
      if (members.length === 0) leaves.set(path, '{}');
      for (const [member, inner] of members) visit(path === '' ? key(member) : `${path}.${key(member)}`, member, inner);
    } else {
      leaves.set(path, node as Leaf);
    }
  };
  visit('', '', value);
  return leaves;
}
