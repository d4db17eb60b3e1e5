/** How messages name their channel: a first byte before raw data, or a first digit before base64. */
export type ChannelCodec = 'binary' | 'base64';

const ZERO = 0x30;

/** A message of one channel; the data is copied, so that its memory may be used again. */
export function encodeMessage(codec: ChannelCodec, channel: number, data: Buffer): Buffer | string {
  if (codec === 'base64') return String.fromCharCode(ZERO + channel) + data.toString('base64');
  const message = Buffer.allocUnsafe(data.length + 1);
  message[0] = channel;
  data.copy(message, 1);
  return message;
}

/** Undefined for a message without a channel. */
export function decodeMessage(codec: ChannelCodec, message: Buffer): { readonly channel: number; readonly data: Buffer } | undefined {
  const [first] = message;
  if (first === undefined) return undefined;
  if (codec === 'binary') return { channel: first, data: message.subarray(1) };
  return { channel: first - ZERO, data: Buffer.from(message.toString('latin1', 1), 'base64') };
}
