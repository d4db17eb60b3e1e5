/** Numbers that a drawing can hold and a diff can show. */
export const at = (value: number): string => String(Math.round(value * 10) / 10);

/**
 * A whole picture. It has no background, and its colours are legible on a light and on a dark page; where the reader's system says which of the two
 * it is, they follow.
 *
 * @param label what it shows, for who cannot see it
 */
export function picture(width: number, height: number, label: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${at(width)} ${at(height)}" width="${at(width)}" height="${at(height)}" role="img" aria-label="${escapeXml(label)}">`,
    `<style>${STYLE}</style>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

const STYLE = [
  'text{font:12px system-ui,sans-serif;fill:#57606a}',
  '.title{font-weight:600}',
  '.axis{stroke:#8b949e;stroke-width:1;opacity:.5}',
  '.criquet{fill:#2f81f7;stroke:#2f81f7}',
  '.containerd{fill:#db6d28;stroke:#db6d28}',
  '.missed{fill:#cf222e}',
  '.met{fill:#2da44e}',
  '.dot{fill-opacity:.35;stroke:none}',
  '.median{stroke-width:3}',
  '.target{stroke:#8250df;stroke-width:2;stroke-dasharray:4 3}',
  '@media (prefers-color-scheme:dark){text{fill:#c9d1d9}.target{stroke:#d2a8ff}}',
].join('');

export function text(x: number, y: number, content: string, options: { anchor?: 'start' | 'middle' | 'end'; class?: string } = {}): string {
  const style = options.class === undefined ? '' : ` class="${options.class}"`;
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${options.anchor ?? 'start'}"${style}>${escapeXml(content)}</text>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, kind: string): string {
  return `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" class="${kind}"/>`;
}

export function dot(x: number, y: number, kind: string): string {
  return `<circle cx="${at(x)}" cy="${at(y)}" r="3" class="dot ${kind}"/>`;
}

export function bar(x: number, y: number, width: number, height: number, kind: string): string {
  return `<rect x="${at(x)}" y="${at(y)}" width="${at(width)}" height="${at(height)}" class="${kind}"/>`;
}

export function escapeXml(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
