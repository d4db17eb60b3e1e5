/** Fields whose keys are the caller's own and no field names. */
const MAPS: ReadonlySet<string> = new Set(['annotations', 'labels', 'sysctls', 'unified']);
/** Fields whose name in the protocol is not the generated one with underscores. */
const NAMES: Readonly<Record<string, string>> = { CDIDevices: 'CDI_devices', uidMappings: 'uidMappings', gidMappings: 'gidMappings' };

/**
 * A CRI message in the form in which containerd's plugin shows it in verbose answers, which is how Go's encoding/json writes it and what
 * scripts over `crictl inspect` look into: names of the protocol (`log_directory`), nothing for a field that has its zero value.
 */
export function goJson(message: object): Record<string, unknown> {
  const written: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(message) as [string, unknown][]) {
    const isMap = MAPS.has(name);
    if (name === '_unknownFields' || isZero(member) || (isMap && Object.keys(member as object).length === 0)) continue;
    written[NAMES[name] ?? underscored(name)] = isMap ? member : value(member);
  }
  return written;
}

function value(member: unknown): unknown {
  if (Array.isArray(member)) return member.map(value);
  if (typeof member !== 'object' || member === null || member instanceof Uint8Array) return member;
  return goJson(member);
}

function isZero(member: unknown): boolean {
  if (member === undefined || member === null || member === '' || member === 0 || member === 0n || member === false) return true;
  if (Array.isArray(member) || member instanceof Uint8Array) return member.length === 0;
  return false;
}

function underscored(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
