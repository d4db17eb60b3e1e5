import { readFile } from 'node:fs/promises';
import ts from 'typescript';

/** The names that a file's tests have, as far as the source tells them: one with placeholders is a pattern. */
export type TestNames = readonly (string | RegExp)[];

/** @throws when the file cannot be read */
export async function readTestNames(path: string): Promise<TestNames> {
  return testNames(await readFile(path, 'utf8'));
}

/** The first arguments of `test(…)` and `t.test(…)`. */
export function testNames(source: string): TestNames {
  const names: (string | RegExp)[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isTest(node.expression)) {
      const name = node.arguments[0];
      if (name !== undefined && ts.isStringLiteralLike(name)) names.push(name.text);
      else if (name !== undefined && ts.isTemplateExpression(name)) names.push(pattern(name));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('test.ts', source, ts.ScriptTarget.ES2022));
  return names;
}

export function hasTest(names: TestNames, wanted: string): boolean {
  return names.some((name) => (typeof name === 'string' ? name === wanted : name.test(wanted)));
}

function isTest(callee: ts.Expression): boolean {
  return ts.isIdentifier(callee) ? callee.text === 'test' : ts.isPropertyAccessExpression(callee) && callee.name.text === 'test';
}

function pattern(template: ts.TemplateExpression): RegExp {
  const parts = [template.head.text, ...template.templateSpans.map((span) => span.literal.text)];
  return new RegExp(`^${parts.map(escapeRegExp).join('.*')}$`, 's');
}

export function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
