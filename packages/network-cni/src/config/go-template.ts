/** Values a template can reach: the fields of its data, and what `range` yields. */
export type TemplateValue = string | number | readonly string[];
export type TemplateData = Readonly<Record<string, TemplateValue>>;

/** A template that is wrong; the message begins with the line. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';

  constructor(line: number, reason: string) {
    super(`line ${line}: ${reason}`);
  }
}

type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly operand: string; readonly line: number }
  | { readonly kind: 'if'; readonly operand: string; readonly line: number; readonly body: Node[]; readonly otherwise: Node[] }
  | (RangeHead & { readonly kind: 'range'; readonly line: number; readonly body: Node[]; readonly otherwise: Node[] });

interface RangeHead {
  readonly index: string | undefined;
  readonly element: string | undefined;
  readonly operand: string;
}

interface Token {
  readonly action: boolean;
  readonly text: string;
  readonly line: number;
}

interface Scope {
  readonly root: TemplateData;
  readonly dot: TemplateValue | TemplateData;
  readonly variables: ReadonlyMap<string, TemplateValue>;
}

const RANGE = /^range\s+(?:(?:(\$\w+)\s*,\s*)?(\$\w+)\s*:=\s*)?(\S+)$/;
const OPERAND = /^(?:\.|\$|\.\w+|\$\.\w+|\$\w+)$/;

/**
 * Renders the part of Go's text/template that CNI configuration templates use: `{{.Field}}`, `{{.}}`, `{{$variable}}`, `{{$.Field}}`,
 * `range` with and without variables, `if`, `else`, `else if`, `end`, comments and the trim markers `{{-` and `-}}`. Pipelines and functions are
 * refused. Throws TemplateError.
 */
export function renderGoTemplate(template: string, data: TemplateData): string {
  const parser = new Parser(tokenize(template));
  return render(parser.parse(), { root: data, dot: data, variables: new Map() });
}

function tokenize(template: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  let trimNext = false;
  let rest = template;
  for (;;) {
    const open = rest.indexOf('{{');
    const raw = open < 0 ? rest : rest.slice(0, open);
    const inner = open < 0 ? '' : rest.slice(open + 2);
    const trimmed = trimNext ? raw.trimStart() : raw;
    tokens.push({ action: false, text: /^-\s/.test(inner) ? trimmed.trimEnd() : trimmed, line });
    line += newlines(raw);
    if (open < 0) return tokens;
    const close = inner.indexOf('}}');
    if (close < 0) throw new TemplateError(line, '"{{" without "}}"');
    const content = inner.slice(0, close);
    trimNext = /\s-$/.test(content);
    tokens.push({ action: true, text: content.replace(/^-(?=\s)/, '').replace(/\s-$/, '').trim(), line });
    line += newlines(content);
    rest = inner.slice(close + 2);
  }
}

class Parser {
  #position = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  parse(): Node[] {
    const nodes = this.#block();
    const left = this.tokens[this.#position];
    if (left !== undefined) throw new TemplateError(left.line, `unexpected {{${left.text}}}`);
    return nodes;
  }

  /** Nodes up to `else` or `end`, which stay unread, or the end of the template. */
  #block(): Node[] {
    const nodes: Node[] = [];
    for (let token = this.#peek(); token !== undefined && !(token.action && /^(else|end)\b/.test(token.text)); token = this.#peek()) {
      this.#position += 1;
      if (!token.action) nodes.push({ kind: 'text', text: token.text });
      else if (!/^\/\*.*\*\/$/s.test(token.text)) nodes.push(this.#action(token));
    }
    return nodes;
  }

  #action({ text, line }: Token): Node {
    if (/^if\s/.test(text)) return this.#condition(text.slice(2), line);
    const range = RANGE.exec(text);
    if (range !== null) {
      const [, index, element, operand = ''] = range;
      const head = { kind: 'range', index, element, operand: checkOperand(operand, line), line } as const;
      const body = this.#block();
      return { ...head, body, otherwise: this.#otherwise(line) };
    }
    return { kind: 'print', operand: checkOperand(text, line), line };
  }

  #condition(text: string, line: number): Node {
    const operand = checkOperand(text.trim(), line);
    const body = this.#block();
    return { kind: 'if', operand, line, body, otherwise: this.#otherwise(line) };
  }

  /** Reads `end`, or `else` and what follows up to `end`. */
  #otherwise(opened: number): Node[] {
    const token = this.#peek();
    if (token === undefined) throw new TemplateError(opened, 'no {{end}} for this action');
    this.#position += 1;
    if (token.text === 'end') return [];
    if (/^else\s+if\s/.test(token.text)) return [this.#condition(token.text.replace(/^else\s+if/, ''), token.line)];
    if (token.text !== 'else') throw new TemplateError(token.line, `unexpected {{${token.text}}}`);
    const nodes = this.#block();
    const end = this.#peek();
    if (end?.text !== 'end') throw new TemplateError(token.line, 'no {{end}} after {{else}}');
    this.#position += 1;
    return nodes;
  }

  #peek(): Token | undefined {
    return this.tokens[this.#position];
  }
}

function checkOperand(text: string, line: number): string {
  if (!OPERAND.test(text)) throw new TemplateError(line, `unsupported action {{${text}}}; fields, variables, if and range are supported`);
  return text;
}

function render(nodes: readonly Node[], scope: Scope): string {
  return nodes.map((node) => renderNode(node, scope)).join('');
}

function renderNode(node: Node, scope: Scope): string {
  if (node.kind === 'text') return node.text;
  const value = evaluate(node.operand, scope, node.line);
  switch (node.kind) {
    case 'print':
      if (typeof value === 'object') throw new TemplateError(node.line, `{{${node.operand}}} is a list; use range`);
      return String(value);
    case 'if':
      return render(isTrue(value) ? node.body : node.otherwise, scope);
    case 'range': {
      if (typeof value !== 'object') throw new TemplateError(node.line, `range over ${node.operand}, which is no list`);
      if (value.length === 0) return render(node.otherwise, scope);
      const { index, element, body } = node;
      return value.map((item, position) => render(body, inside(scope, item, [[index, position], [element, item]]))).join('');
    }
  }
}

function inside(scope: Scope, dot: string, set: ReadonlyArray<readonly [string | undefined, TemplateValue]>): Scope {
  const variables = new Map(scope.variables);
  for (const [name, value] of set) if (name !== undefined) variables.set(name, value);
  return { root: scope.root, dot, variables };
}

function evaluate(operand: string, scope: Scope, line: number): TemplateValue {
  const fail = (reason: string): never => {
    throw new TemplateError(line, reason);
  };
  if (operand === '.' || operand === '$') {
    const value = operand === '.' ? scope.dot : scope.root;
    return typeof value === 'object' && !Array.isArray(value) ? fail(`{{${operand}}} is the whole data`) : (value as TemplateValue);
  }
  const [variable = '', field] = operand.split('.');
  if (field === undefined) return scope.variables.get(variable) ?? fail(`undefined variable ${variable}`);
  const owner = variable === '$' ? scope.root : scope.dot;
  if (typeof owner !== 'object' || !Object.hasOwn(owner, field)) return fail(`there is no field ${operand}`);
  return (owner as TemplateData)[field] as TemplateValue;
}

/** Go's truth: a value is false when it is empty or zero. */
function isTrue(value: TemplateValue): boolean {
  return typeof value === 'object' ? value.length > 0 : value !== '' && value !== 0;
}

function newlines(text: string): number {
  return text.split('\n').length - 1;
}
