/** One spec of a JUnit report. */
export interface SpecResult {
  /** The spec's full name as the skip list has it: without the `[It] ` that ginkgo puts before it. */
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  /** Why it failed or skipped itself; empty when it passed. */
  readonly message: string;
}

/** Reads ginkgo's JUnit report: every `[It]`, none of the suite's own set-up nodes. */
export function parseJunit(xml: string): SpecResult[] {
  const results: SpecResult[] = [];
  for (const [, head = '', selfClosed, body = ''] of xml.matchAll(/<testcase\s([^>]*?)(?:(\/)>|>([\s\S]*?)<\/testcase>)/g)) {
    const attributes = new Map([...head.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, unescapeXml(value)]));
    const name = attributes.get('name') ?? '';
    if (!name.startsWith('[It] ')) continue;
    const content = selfClosed === undefined ? body : '';
    const failure = /<(failure|error)\b[^>]*?message="([^"]*)"/.exec(content);
    const skipped = /<skipped\b(?:[^>]*?message="([^"]*)")?/.exec(content);
    results.push({
      name: specName(name),
      outcome: failure !== null ? 'failed' : skipped !== null || attributes.get('status') !== 'passed' ? 'skipped' : 'passed',
      seconds: Number(attributes.get('time') ?? 0),
      message: unescapeXml(failure?.[2] ?? skipped?.[1] ?? ''),
    });
  }
  return results;
}

/** The full name without ginkgo's node type before it and its label after it, which are no part of the spec's text. */
function specName(name: string): string {
  return name.slice('[It] '.length).replace(/ \[Serial\]$/, '').trim();
}

function unescapeXml(text: string): string {
  const named: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return text.replace(/&(?:#x([0-9a-fA-F]+)|#(\d+)|(\w+));/g, (whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number.parseInt(decimal, 10));
    return named[name ?? ''] ?? whole;
  });
}
