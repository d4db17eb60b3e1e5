import type { SpecResult } from '../report/junit.js';

/** A table of results: outcome, seconds, name, and why where it did not pass. */
export function formatResults(title: string, results: readonly SpecResult[]): string {
  const count = (outcome: SpecResult['outcome']) => results.filter((result) => result.outcome === outcome).length;
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  const rows = [...results]
    .sort((a, b) => a.outcome.localeCompare(b.outcome) || a.name.localeCompare(b.name))
    .map(({ outcome, seconds: took, name, message }) => {
      const why = outcome === 'passed' ? '' : `\n           ${message.trim().split('\n').slice(0, 3).join('\n           ')}`;
      return `${outcome.padEnd(7)} ${took.toFixed(1).padStart(6)}s  ${name}${why}`;
    });
  const total = `${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`;
  return [`${title}: ${total}; ${seconds.toFixed(0)} s of specs`, ...rows].join('\n');
}
