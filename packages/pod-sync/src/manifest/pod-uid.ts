import { createHash } from 'node:crypto';

/** Name space of derived uids (RFC 9562, section 5.5: a name-based UUID needs one); chosen once, never to change. */
const POD_NAMESPACE = Buffer.from('6f0c5c8f4f6b4d0f9c39a3d5d2f1b7e4', 'hex');

/** The uid of a pod whose manifest has none: a version 5 UUID of namespace and name, the same in every run. */
export function derivePodUid(namespace: string, name: string): string {
  const hash = createHash('sha1').update(POD_NAMESPACE).update(`${namespace}/${name}`).digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
