import { test } from 'tap';
import { KeyedFigures } from '../../src/stats/cgroup/cgroup-files.js';

test('a flat keyed file, by name', (t) => {
  const figures = new KeyedFigures('cache 1\nrss 22\nrss_huge 333\ntotal_rss 4\nbad x\nempty\nlast 5');
  t.equal(figures.get('cache'), 1n, 'the first line');
  t.equal(figures.get('rss'), 22n, 'not those that begin or end alike');
  t.equal(figures.get('rss_huge'), 333n);
  t.equal(figures.get('total_rss'), 4n);
  t.equal(figures.get('last'), 5n, 'a last line without an end');
  t.equal(figures.get('huge'), undefined, 'no name of a line');
  t.equal(figures.get('bad'), undefined, 'no number');
  t.equal(figures.get('empty'), undefined);
  t.equal(new KeyedFigures('').get('rss'), undefined);
  t.end();
});
