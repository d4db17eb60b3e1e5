/**
 * A status travels as an HTTP/2 header in which a byte may take three, and no header block is larger than 64 KiB (Node's default, also of its
 * clients). A caller's own words, such as a name, may stand in it.
 */
const MAX_BYTES = 16 * 1024;

/** A message as gRPC can carry it: cut where it is too long, and without the halves of characters that UTF-8 has no bytes for. */
export function statusMessage(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_BYTES) return bytes.toString();
  return `${bytes.toString('utf8', 0, MAX_BYTES)} … (${bytes.length - MAX_BYTES} bytes more)`;
}
