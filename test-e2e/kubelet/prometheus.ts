/** One line of a Prometheus text exposition. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function parseMetrics(text: string): Series[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']): [string, string] => [key, text]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

/** Name and labels without the value, as the exposition writes them: equal for the same series. */
export function identity({ name, labels }: Series): string {
  return `${name}{${Object.entries(labels).sort().map(([key, value]) => `${key}="${value}"`).join(',')}}`;
}
