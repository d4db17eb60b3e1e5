import type { Any } from '@criquet/runtime-containerd';
import type * as z from 'zod';

/** The newest form of records that this version reads and writes. */
const RECORD_VERSION = 1;

/** How a kind of record is kept in the extension of a containerd container. */
export interface RecordCodec<Record> {
  /** The extension's key, and the beginning of its type url. */
  readonly key: string;
  encode(record: Record): Any;
  /** @throws Error saying what is wrong with the bytes. */
  decode(any: Any): Record;
}

/** JSON with bigints as strings; `shape` is what must be there of it, `toPlain` and `fromPlain` convert what JSON cannot hold. */
export function jsonCodec<Record>(
  key: string,
  shape: z.ZodType,
  toPlain: (record: Record) => object,
  fromPlain: (plain: never) => Record,
): RecordCodec<Record> {
  return {
    key,
    encode: (record) => ({
      typeUrl: `${key}/v${RECORD_VERSION}`,
      value: Buffer.from(JSON.stringify({ version: RECORD_VERSION, ...toPlain(record) })),
    }),
    decode: (any) => {
      const plain = parse(key, Buffer.from(any.value).toString('utf8'));
      if (plain?.version !== RECORD_VERSION) {
        throw new Error(`${key}: version ${String(plain?.version)} is not known; this criquet reads version ${RECORD_VERSION}`);
      }
      const problem = shape.safeParse(plain).error?.issues[0];
      if (problem !== undefined) throw new Error(`${key}: ${problem.path.join('.')}: ${problem.message}`);
      return fromPlain(plain as never);
    },
  };
}

/** Without a word of the document, which holds a container's environment. */
function parse(key: string, text: string): { readonly version?: unknown } | null {
  try {
    return JSON.parse(text) as { version?: unknown } | null;
  } catch {
    throw new Error(`${key}: is no JSON`);
  }
}

/** The kubelet takes no object without metadata. @throws Error for a configuration that was not whole */
export function withMetadata<Config extends { metadata?: unknown }>(config: Config): Config {
  if (config.metadata === undefined) throw new Error('config: metadata is missing');
  return config;
}
