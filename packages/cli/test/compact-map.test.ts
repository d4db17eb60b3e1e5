import { decode, encode } from '@jridgewell/sourcemap-codec';
import t from 'tap';
import { compactMap } from '../build/compact-map.js';

await t.test('of a source map, where lines of own modules begin stays', (t) => {
  const [own, generated, foreign] = [0, 1, 2];
  const map = compactMap(
    {
      version: 3,
      sources: ['../../packages/cli/src/a.ts', '../../packages/cri-api/src/gen/b.ts', '../../node_modules/c/src/c.js'],
      names: ['name'],
      mappings: encode([
        // The same line twice, the next one, and then nothing that is told.
        [[0, own, 4, 2], [5, own, 4, 9, 0], [9, own, 5, 0], [12, foreign, 1, 0], [20, generated, 1, 0], [30, own, 5, 3]],
        [],
        [[0, own, 5, 8], [3, own, 6, 0]],
      ]),
    },
    { root: '/checkout', directory: '/checkout/out/bundle' },
  );
  t.same(map.sources, ['packages/cli/src/a.ts']);
  t.same(map.names, []);
  t.same(decode(map.mappings), [[[0, 0, 4, 0], [9, 0, 5, 0], [12], [30, 0, 5, 0]], [], [[3, 0, 6, 0]]]);
  t.end();
});
