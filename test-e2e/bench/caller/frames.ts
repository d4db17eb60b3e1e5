/** The few frames of HTTP/2 (RFC 9113) that a client of unary gRPC calls sends, as bytes. */

export const FrameType = { DATA: 0, HEADERS: 1, RST_STREAM: 3, SETTINGS: 4, PING: 6, GOAWAY: 7, WINDOW_UPDATE: 8 } as const;
export const Flag = { ACK: 1, END_STREAM: 1, END_HEADERS: 4, PADDED: 8 } as const;
export const FRAME_HEADER_BYTES = 9;

/** The largest window there is: no reply waits for a client that reads all it gets. */
const LARGEST_WINDOW = 0x7fffffff;
const DEFAULT_WINDOW = 65_535;

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** What a connection begins with: no table of header fields, no push, windows as large as can be. */
export function preface(): Buffer {
  const settings = Buffer.alloc(18);
  for (const [index, [id, value]] of [[1, 0], [2, 0], [4, LARGEST_WINDOW]].entries()) {
    settings.writeUInt16BE(id ?? 0, index * 6);
    settings.writeUInt32BE(value ?? 0, index * 6 + 2);
  }
  return Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame(FrameType.SETTINGS, 0, 0, settings),
    windowUpdate(LARGEST_WINDOW - DEFAULT_WINDOW),
  ]);
}

/** Gives back `bytes` of the connection's window. */
export function windowUpdate(bytes: number): Buffer {
  const increment = Buffer.alloc(4);
  increment.writeUInt32BE(bytes);
  return frame(FrameType.WINDOW_UPDATE, 0, 0, increment);
}

/** Header block of a unary gRPC call (RFC 7541): literals that go into no table, so that every call's is the same. */
export function headerBlock(path: string): Buffer {
  return Buffer.concat([
    // :method POST and :scheme http of the static table, then :path (4), :authority (1), content-type (31) and te.
    Buffer.from([0x83, 0x86, 0x04]),
    text(path),
    Buffer.from([0x01]),
    text('localhost'),
    Buffer.from([0x0f, 0x10]),
    text('application/grpc'),
    Buffer.from([0x00]),
    text('te'),
    text('trailers'),
  ]);
}

/** A message as gRPC sends it: not compressed, its length first. */
export function grpcMessage(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** @throws when it is longer than one byte can say */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length > 126) throw new Error(`${value}: too long for a header field here`);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}
