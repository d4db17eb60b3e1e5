/** Container ids and network names (SPEC.md sections 1 and 2): an alphanumeric character, then alphanumerics, `_`, `.`, `-`. */
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

/** IFNAMSIZ less the terminating zero. */
const MAX_INTERFACE_NAME_BYTES = 15;

/** What is wrong with a container id; undefined when nothing is. */
export function containerIdFault(id: string): string | undefined {
  if (id === '') return 'container id: missing';
  return NAME.test(id) ? undefined : `container id: invalid characters in ${JSON.stringify(id)}`;
}

/** What is wrong with a network name; undefined when nothing is. */
export function networkNameFault(name: string): string | undefined {
  if (name === '') return 'missing';
  return NAME.test(name) ? undefined : `invalid characters in ${JSON.stringify(name)}`;
}

/** What is wrong with an interface name by the kernel's rules (dev_valid_name in net/core/dev.c); undefined when nothing is. */
export function interfaceNameFault(name: string): string | undefined {
  if (name === '') return 'interface name: missing';
  if (Buffer.byteLength(name) > MAX_INTERFACE_NAME_BYTES) {
    return `interface name: ${JSON.stringify(name)} has more than ${MAX_INTERFACE_NAME_BYTES} bytes`;
  }
  if (name === '.' || name === '..' || /[/:\s\0]/.test(name)) return `interface name: ${JSON.stringify(name)} is not allowed`;
  return undefined;
}
