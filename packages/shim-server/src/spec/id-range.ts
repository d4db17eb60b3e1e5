import { invalidArgument } from '../errors.js';

/** runc takes user and group ids up to 2^31-1 only; a greater one must never wrap round to root (CVE-2024-40635). */
export const MAX_ID = 0x7fffffff;

/** Checks a user or group id. @throws INVALID_ARGUMENT naming `field` when it is below 0 or above 2^31-1. */
export function checkId(field: string, id: bigint | number): number {
  if (id < 0 || id > MAX_ID) throw invalidArgument(field, `id ${id} is out of range, 0 to ${MAX_ID} is allowed`);
  return Number(id);
}
