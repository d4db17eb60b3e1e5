import t from 'tap';
import { DropNotice } from '../../src/logging/drop-notice.js';

t.test('said at once, then once a minute with what was lost since', (t) => {
  const said: object[] = [];
  let now = 5_000;
  const notice = new DropNotice({ warn: (fields: object) => void said.push(fields) }, () => now);
  const full = new Error('no space left');
  notice.add(3, full);
  t.same(said, [{ droppedRecords: 3, err: 'no space left' }]);
  notice.add(10, full);
  now += 59_000;
  notice.add(7, full);
  t.equal(said.length, 1);
  now += 1_000;
  notice.add(1, full);
  t.same(said[1], { droppedRecords: 18, err: 'no space left' });
  t.end();
});
