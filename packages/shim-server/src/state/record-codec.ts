import type { Any } from '@criquet/runtime-containerd';

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

/** JSON with bigints as strings; `toPlain` and `fromPlain` convert what JSON cannot hold. */
export function jsonCodec<Record>(
  key: string,
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
      const plain = JSON.parse(Buffer.from(any.value).toString('utf8')) as { version?: unknown };
      if (plain.version !== RECORD_VERSION) {
        throw new Error(`${key}: version ${String(plain.version)} is not known; this criquet reads version ${RECORD_VERSION}`);
      }
      return fromPlain(plain as never);
    },
  };
}
