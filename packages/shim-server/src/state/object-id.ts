import { randomBytes } from 'node:crypto';

/** A new sandbox or container id: 64 hexadecimal digits, the form by which cAdvisor recognises a container's cgroup. */
export function newObjectId(): string {
  return randomBytes(32).toString('hex');
}
