import { stringify } from 'yaml';

export const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** A value as JSON or YAML text. 64-bit integers that a double cannot hold become text; bytes become base64. */
export function formatValue(value: unknown, format: 'json' | 'yaml'): string {
  const plain: unknown = JSON.parse(JSON.stringify(value, replacer) ?? 'null');
  return format === 'json' ? `${JSON.stringify(plain, undefined, 2)}\n` : stringify(plain);
}

function replacer(key: string, value: unknown): unknown {
  if (key === '_unknownFields') return undefined;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (isSerializedBuffer(value)) return Buffer.from(value.data).toString('base64');
  return value;
}

/** What Buffer.toJSON gives, before the replacer sees it. */
function isSerializedBuffer(value: unknown): value is { data: number[] } {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value && Array.isArray(value.data);
}
