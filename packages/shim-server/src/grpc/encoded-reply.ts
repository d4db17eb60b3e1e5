/** What a message type of CRI offers. */
export interface Encoder<Message> {
  encode(message: Message): { finish(): Uint8Array };
}

/** A reply in the wire's own form: it is sent as it is. */
export class EncodedReply {
  constructor(readonly bytes: Buffer) {}

  static of<Message>(type: Encoder<Message>, message: Message): EncodedReply {
    const bytes = type.encode(message).finish();
    return new EncodedReply(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
}
