import { ControlType, FLAG_FIN } from './frame-parser.js';
import type { ResetStatus } from './spdy-error.js';

const CONTROL_VERSION_3 = 0x8003;
/** The length field has 24 bits; pieces of this size do for every reader. */
export const MAX_DATA_BYTES = 1024 * 1024;

const SETTINGS_INITIAL_WINDOW_SIZE = 7;

/** The head of a data frame; the data follows it. */
export function dataHead(streamId: number, length: number, fin: boolean): Buffer {
  const head = Buffer.allocUnsafe(8);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt32BE(length, 4);
  head.writeUInt8(fin ? FLAG_FIN : 0, 4);
  return head;
}

export function rstStream(streamId: number, status: ResetStatus): Buffer {
  return control(ControlType.rstStream, [streamId, status]);
}

/** Echoes a ping. */
export function ping(id: number): Buffer {
  return control(ControlType.ping, [id]);
}

/** Lets the peer send `bytes` on a stream before it waits for WINDOW_UPDATE. */
export function initialWindow(bytes: number): Buffer {
  return control(ControlType.settings, [1, SETTINGS_INITIAL_WINDOW_SIZE, bytes]);
}

/**
 * Writes SYN_REPLY frames without headers, compressed: each block is a stored deflate block of the four bytes that count no header, and an
 * empty stored block after it, without which Go's reader waits for more. The first one has zlib's head, without a dictionary.
 */
export class ReplyWriter {
  private begun = false;

  synReply(streamId: number): Buffer {
    const block = Buffer.from('000400fbff00000000000000ffff', 'hex');
    const head = this.begun ? Buffer.alloc(0) : Buffer.from('7801', 'hex');
    this.begun = true;
    return control(ControlType.synReply, [streamId], Buffer.concat([head, block]));
  }
}

function control(type: number, words: readonly number[], rest = Buffer.alloc(0)): Buffer {
  const frame = Buffer.alloc(8 + words.length * 4 + rest.length);
  frame.writeUInt16BE(CONTROL_VERSION_3, 0);
  frame.writeUInt16BE(type, 2);
  frame.writeUInt32BE(frame.length - 8, 4);
  words.forEach((word, index) => frame.writeUInt32BE(word, 8 + index * 4));
  rest.copy(frame, 8 + words.length * 4);
  return frame;
}
