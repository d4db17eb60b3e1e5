import { createHash } from 'node:crypto';
import type { ServiceDefinition } from './definition.js';
import type { Fact, Facts, TestReference } from './facts.js';

/** A field or call whose fact names a test. */
export interface Row {
  /** `PodSandboxConfig.log_directory`, `RuntimeService.Exec`. */
  readonly name: string;
  /** The same with the field as TypeScript has it, for `drop.ts`. */
  readonly dropped: string;
  readonly test: TestReference;
}

/** The rows that can be tried: what is honoured. */
export function testedRows(services: readonly ServiceDefinition[], facts: Facts): Row[] {
  const row = (owner: string, name: string, key: string, fact: Fact | undefined): Row[] =>
    fact?.status !== 'honoured' || fact.test === undefined ? [] : [{ name: `${owner}.${name}`, dropped: `${owner}.${key}`, test: fact.test }];
  return services.flatMap((service) =>
    service.calls.flatMap((call) => [
      ...row(service.name, call.name, call.name, facts.calls[service.name]?.[call.name]),
      ...call.messages.flatMap(({ name, fields }) => fields.flatMap((field) => row(name, field.name, field.key, facts.messages[name]?.[field.name]))),
    ]),
  );
}

/** As many rows as asked for, the same ones for the same seed. */
export function sampleRows(rows: readonly Row[], size: number, seed: string): Row[] {
  const rank = ({ name }: Row) => createHash('sha256').update(`${seed}\0${name}`).digest('hex');
  return [...rows].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, size);
}
