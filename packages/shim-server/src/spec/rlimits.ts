import type { PosixRlimit } from '@criquet/runtime-containerd';
import { toWideInteger } from './wide-integer.js';

/** What setrlimit(2) limits, as OCI names it without its prefix. */
const NAMES = 'as core cpu data fsize locks memlock msgqueue nice nofile nproc rss rtprio rttime sigpending stack'.split(' ');

const UNLIMITED = 2n ** 64n - 1n;

/**
 * A resource limit as `ulimit` options of container engines write it: `nofile=1024:4096` (soft and hard), `core=0` (both),
 * `memlock=unlimited`.
 *
 * @throws Error saying what is wrong with the text
 */
export function parseUlimit(text: string): PosixRlimit {
  const [, name = '', softText = '', hardText = softText] = /^([^=]+)=([^:]+)(?::([^:]+))?$/.exec(text) ?? [];
  if (name === '') throw new Error('is not NAME=SOFT:HARD or NAME=BOTH');
  if (!NAMES.includes(name)) throw new Error(`there is no limit ${JSON.stringify(name)}; limits: ${NAMES.join(', ')}`);
  const [soft, hard] = [limit(softText), limit(hardText)];
  if (soft > hard) throw new Error('the soft limit is above the hard limit');
  return { type: `RLIMIT_${name.toUpperCase()}`, soft: toWideInteger(soft), hard: toWideInteger(hard) };
}

function limit(text: string): bigint {
  if (text === 'unlimited' || text === '-1') return UNLIMITED;
  if (!/^\d+$/.test(text)) throw new Error(`${JSON.stringify(text)} is neither a number nor "unlimited"`);
  const value = BigInt(text);
  if (value > UNLIMITED) throw new Error(`${JSON.stringify(text)} is above ${UNLIMITED}`);
  return value;
}
