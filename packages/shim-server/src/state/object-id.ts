import { randomBytes } from 'node:crypto';

/** A new sandbox or container id: 64 hexadecimal digits, the form by which cAdvisor recognises a container's cgroup. */
export function newObjectId(): string {
  return randomBytes(32).toString('hex');
}

/** Whether it has the form of {@link newObjectId}: ids become names of files, and nothing else may. */
export function isObjectId(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}
