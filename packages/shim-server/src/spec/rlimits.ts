import type { PosixRlimit } from '@criquet/runtime-containerd';
import { toWideInteger } from './wide-integer.js';

/** What setrlimit(2) limits, as OCI names it without its prefix. */
const NAMES = 'as core cpu data fsize locks memlock msgqueue nice nofile nproc rss rtprio rttime sigpending stack'.split(' ');

const UNLIMITED = 2n ** 64n - 1n;

/**
 * A resource limit as `ulimit` options of container engines write it: `nofile=1024:4096` (soft and hard), `core=0` (both),
 * `memlock=unlimited`. undefined for anything else.
 */
export function parseUlimit(text: string): PosixRlimit | undefined {
  const [, name = '', softText = '', hardText = softText] = /^([a-z]+)=(unlimited|-1|\d{1,20})(?::(unlimited|-1|\d{1,20}))?$/.exec(text) ?? [];
  if (!NAMES.includes(name)) return undefined;
  const [soft, hard] = [limit(softText), limit(hardText)];
  if (soft > hard || hard > UNLIMITED) return undefined;
  return { type: `RLIMIT_${name.toUpperCase()}`, soft: toWideInteger(soft), hard: toWideInteger(hard) };
}

function limit(text: string): bigint {
  return text === 'unlimited' || text === '-1' ? UNLIMITED : BigInt(text);
}
