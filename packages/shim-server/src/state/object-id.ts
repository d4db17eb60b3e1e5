import { randomBytes } from 'node:crypto';

/** A new sandbox or container id: 64 hexadecimal digits, the form by which cAdvisor recognises a container's cgroup. */
export function newObjectId(): string {
  return randomBytes(32).toString('hex');
}

/** Whether `text` has the form of an id that {@link newObjectId} makes. */
export function isObjectId(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}
