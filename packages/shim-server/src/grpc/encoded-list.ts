import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { EncodedReply } from './encoded-reply.js';

/** What a message type of CRI offers. */
interface Encoder<T> {
  encode(message: T): { finish(): Uint8Array };
}

/**
 * Lists whose items are encoded once for each change and not for each call: a record is replaced when it changes, so what it was encoded to holds for as long
 * as the record does.
 */
export class EncodedList<Item extends object, Message> {
  private readonly encoded = new WeakMap<Item, Uint8Array>();
  private whole: EncodedReply | undefined;

  /** @param field number of the repeated field that is all of the reply */
  constructor(
    private readonly field: number,
    private readonly type: Encoder<Message>,
    private readonly toMessage: (item: Item) => Message,
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

  /** With its tag and length, as it stands in the reply. */
  private bytes(item: Item): Uint8Array {
    const known = this.encoded.get(item);
    if (known !== undefined) return known;
    const message = this.type.encode(this.toMessage(item)).finish();
    // Wire type 2: a length, then so many bytes.
    const bytes = new BinaryWriter().uint32((this.field << 3) | 2).bytes(message).finish();
    this.encoded.set(item, bytes);
    return bytes;
  }
}
