import { Container, ListContainersResponse } from '@criquet/cri-api';
import { test } from 'tap';
import { EncodedList } from '../../src/grpc/encoded-list.js';

interface Item {
  readonly id: string;
}

test('the reply is what the generated code makes of the same list, and each item is encoded once', (t) => {
  const encoded: string[] = [];
  const list = new EncodedList(ListContainersResponse, ({ id }: Item) => {
    encoded.push(id);
    // Longer than one byte of length can say.
    return { containers: [Container.fromPartial({ id, labels: { long: 'x'.repeat(300) }, createdAt: 5n })] };
  });
  const [a, b, c] = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];
  const expected = (...items: Item[]) =>
    Buffer.from(ListContainersResponse.encode({ containers: items.map(({ id }) => Container.fromPartial({ id, labels: { long: 'x'.repeat(300) }, createdAt: 5n })) }).finish());
  t.same(list.of([a, b]).bytes, expected(a, b));
  t.same(list.of([c, a]).bytes, expected(c, a));
  t.same(list.of([]).bytes, Buffer.alloc(0));
  t.same(encoded, ['a', 'b', 'c']);
  // A changed record is another object.
  t.same(list.of([{ id: 'z' }]).bytes, expected({ id: 'z' }));
  t.end();
});

test('the list of everything is joined once for each change', (t) => {
  const list = new EncodedList(ListContainersResponse, ({ id }: Item) => ({ containers: [Container.fromPartial({ id })] }));
  let items = [{ id: 'a' }];
  const first = list.ofAll(() => items);
  items = [{ id: 'a' }, { id: 'b' }];
  t.equal(list.ofAll(() => items), first, 'nothing has told of a change');
  list.changed();
  t.same(ListContainersResponse.decode(list.ofAll(() => items).bytes).containers.map(({ id }) => id), ['a', 'b']);
  t.end();
});
