/** One spec of a JUnit report. */
export interface SpecResult {
  /** The spec's full name, without the `[It] ` that ginkgo puts before it. */
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  /** Why it failed or skipped itself; empty when it passed. That of a spec that was not chosen is `skipped` or empty. */
  readonly message: string;
}

export interface JunitForm {
  /** Ginkgo's own reports put a spec's labels behind its name; Kubernetes' suites have them in the name only. Default: true */
  readonly labelsAfterName?: boolean;
}

/** Reads ginkgo's JUnit report: every `[It]`, none of the suite's own set-up nodes. */
export function parseJunit(xml: string, { labelsAfterName = true }: JunitForm = {}): SpecResult[] {
  const results: SpecResult[] = [];
  for (const [, head = '', selfClosed, body = ''] of xml.matchAll(/<testcase\s([^>]*?)(?:(\/)>|>([\s\S]*?)<\/testcase>)/g)) {
    const attributes = new Map([...head.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, unescapeXml(value)]));
    const name = attributes.get('name') ?? '';
    if (!name.startsWith('[It] ')) continue;
    const content = selfClosed === undefined ? body : '';
    const failure = /<(failure|error)\b([^>]*?)(?:\/>|>([\s\S]*?)<\/\1>)/.exec(content);
    const skipped = /<skipped\b(?:[^>]*?message="([^"]*)")?/.exec(content);
    results.push({
      name: labelsAfterName ? withoutSerial(name.slice('[It] '.length)) : name.slice('[It] '.length).trim(),
      outcome: failure !== null ? 'failed' : skipped !== null || attributes.get('status') !== 'passed' ? 'skipped' : 'passed',
      seconds: Number(attributes.get('time') ?? 0),
      message: failure === null ? unescapeXml(skipped?.[1] ?? '') : failureMessage(failure),
    });
  }
  return results;
}

/** Kubernetes' suites leave the attribute out: it is said again in the text. */
function failureMessage([, , head = '', text = '']: RegExpExecArray): string {
  const attribute = /\bmessage="([^"]+)"/.exec(head)?.[1];
  return unescapeXml(attribute ?? text.replace(/^\s*\[\w+\]\s*/, ''));
}

/** critest's one label. */
function withoutSerial(name: string): string {
  return name.replace(/ \[Serial\]$/, '').trim();
}

function unescapeXml(text: string): string {
  const named: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return text.replace(/&(?:#x([0-9a-fA-F]+)|#(\d+)|(\w+));/g, (whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number.parseInt(decimal, 10));
    return named[name ?? ''] ?? whole;
  });
}
