import { InvalidArgumentError } from 'commander';

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Reads `30s`, `5m`, `1h30m`, `250ms` or a plain number of seconds; 0 stands for no limit. */
export function parseDuration(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  if (!/^(\d+(\.\d+)?(h|ms|m|s))+$/.test(text)) throw new InvalidArgumentError('Expected a duration such as 30s, 5m or 1h30m, or seconds.');
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)) ms += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0);
  return ms;
}

/** `1.2 ms`, `340 ms`, `2.4 s`. */
export function formatDuration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** `45s`, `12m`, `3h`, `9d`: the age of something, as kubectl shows it. */
export function formatAge(since: Date, now: Date = new Date()): string {
  const seconds = Math.max(0, Math.round((now.getTime() - since.getTime()) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
