/** A reply in the wire's own form: it is sent as it is. */
export class EncodedReply {
  constructor(readonly bytes: Buffer) {}

  /** @param type what a message type of CRI offers */
  static of<Message>(type: { encode(message: Message): { finish(): Uint8Array } }, message: Message): EncodedReply {
    const bytes = type.encode(message).finish();
    return new EncodedReply(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
}
