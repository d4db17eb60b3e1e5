import { EncodedReply, type Encoder } from './encoded-reply.js';

/**
 * Lists whose items are encoded once for each change and not for each call: a record is replaced when it changes, so what it was encoded to holds for as long
 * as the record does. Each is encoded as a reply of its own: replies whose only field is repeated are one reply when they are joined.
 */
export class EncodedList<Item extends object, Reply> {
  private readonly encoded = new WeakMap<Item, Uint8Array>();
  private whole: EncodedReply | undefined;

  /** @param toReply the reply that lists this item alone */
  constructor(
    private readonly type: Encoder<Reply>,
    private readonly toReply: (item: Item) => Reply,
  ) {}

  of(items: readonly Item[]): EncodedReply {
    return new EncodedReply(Buffer.concat(items.map((item) => this.bytes(item))));
  }

  /** The list of everything, which is joined once for each change: {@link changed} must be called at every one. */
  ofAll(items: () => readonly Item[]): EncodedReply {
    return (this.whole ??= this.of(items()));
  }

  changed(): void {
    this.whole = undefined;
  }

  private bytes(item: Item): Uint8Array {
    const known = this.encoded.get(item);
    if (known !== undefined) return known;
    const bytes = this.type.encode(this.toReply(item)).finish();
    this.encoded.set(item, bytes);
    return bytes;
  }
}
