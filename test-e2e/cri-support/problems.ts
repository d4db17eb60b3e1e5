import { enumerations, type ServiceDefinition } from './definition.js';
import type { Fact, Facts, TestReference } from './facts.js';
import { hasTest, type TestNames } from './test-names.js';

/** Finds the names of a file's tests; undefined when there is no such file. */
export type FindTests = (file: string) => Promise<TestNames | undefined>;

/** What keeps the facts from being the whole truth about a definition, a line each; none when there is nothing. */
export async function problems(services: readonly ServiceDefinition[], facts: Facts, findTests: FindTests): Promise<string[]> {
  const found: string[] = [];
  const expected = new Map<string, Fact | undefined>();
  for (const service of services) {
    for (const call of service.calls) {
      expected.set(`${service.name}.${call.name}`, facts.calls[service.name]?.[call.name]);
      for (const { name, fields } of call.messages) {
        for (const field of fields) expected.set(`${name}.${field.name}`, facts.messages[name]?.[field.name]);
      }
    }
  }
  for (const [name, fact] of expected) {
    if (fact === undefined) found.push(`${name} has no facts`);
    else found.push(...(await factProblems(name, fact, findTests)));
  }
  found.push(...(await enumProblems(services, facts, findTests)));
  for (const [owner, members] of [...Object.entries(facts.calls), ...Object.entries(facts.messages)]) {
    for (const member of Object.keys(members)) {
      if (!expected.has(`${owner}.${member}`)) found.push(`${owner}.${member} has facts and is not in the definition`);
    }
  }
  return found;
}

async function enumProblems(services: readonly ServiceDefinition[], facts: Facts, findTests: FindTests): Promise<string[]> {
  const found: string[] = [];
  const defined = enumerations(services);
  for (const { name, values } of defined) {
    const fact = facts.enums[name];
    if (fact === undefined) found.push(`${name} has no facts`);
    else if (fact.values !== values.length) found.push(`${name} has ${values.length} values, the facts know ${fact.values}`);
    if (fact !== undefined) found.push(...(await testProblems(name, fact.test, findTests)));
  }
  const gone = Object.keys(facts.enums).filter((name) => !defined.some((one) => one.name === name));
  return [...found, ...gone.map((name) => `${name} has facts and is not in the definition`)];
}

async function factProblems(name: string, fact: Fact, findTests: FindTests): Promise<string[]> {
  const found = fact.test === undefined ? [] : await testProblems(name, fact.test, findTests);
  if (fact.status === 'honoured' && fact.test === undefined) found.push(`${name} names no test`);
  if (fact.status === 'honoured' && fact.text === '') found.push(`${name} does not say what criquet does`);
  if ((fact.status === 'ignored' || fact.status === 'unset') && fact.text === '') found.push(`${name} is ${fact.status} without a reason`);
  return found;
}

async function testProblems(name: string, test: TestReference, findTests: FindTests): Promise<string[]> {
  const names = await findTests(test.file);
  if (names === undefined) return [`${name} names a test in ${test.file}.test.ts, which is not there`];
  return hasTest(names, test.name) ? [] : [`${name} names the test ${JSON.stringify(test.name)}, which ${test.file}.test.ts does not have`];
}
