import t from 'tap';
import { mapField, parseFilters, type Fields } from '../../src/testing/filters.js';

const labels: Record<string, string> = { a: '1', 'io.kubernetes.pod.uid': 'u-1', 'x y': 'q' };
const fields: Fields = ([field, ...rest]) => (field === 'id' ? 'abc' : field === 'labels' ? mapField(rest, labels) : undefined);
const matches = (...filters: string[]) => parseFilters(filters)(fields);

t.test('containerd\'s filters', async (t) => {
  for (const filter of [
    'id==abc',
    'id=="abc"',
    'id!=abd',
    'id~=^a.c$',
    'id~=/^a/',
    'id~=|b|',
    'id',
    'labels.a',
    'labels.a==1,id==abc',
    'labels."io.kubernetes.pod.uid"==u-1',
    'labels.io.kubernetes.pod.uid==u-1',
    'labels."x y"==\'q\'',
    'labels.none!=1',
    'none~=^$',
    '',
  ]) {
    t.ok(matches(filter), filter);
  }
  for (const filter of ['id==ab', 'id!=abc', 'id~=^b', 'labels.a==1,id==x', 'labels.none', 'none==', 'none==x'].filter((f) => f !== 'none==')) {
    t.notOk(matches(filter), filter);
  }
  t.ok(matches());
  t.ok(matches('id==x', 'id==abc'));
  for (const filter of ['==', 'id=', 'id==', 'id==a b', 'id==a,', '.id', 'id.', 'id=~a']) {
    t.throws(() => parseFilters([filter]), { name: 'FakeStatus', code: 3, details: /parse error/ }, filter);
  }
});
