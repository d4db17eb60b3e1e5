import { createCipheriv } from 'node:crypto';
import { PATH } from './base-files.js';
import type { ImageDefinition, LayerDefinition } from './image-set.js';

/** What `scripts/bench` pulls. */
export const BENCH_IMAGE = 'e2e.criquet.test/criquet-bench/four-layers:1';

const LAYERS = 4;
/** 130 MB (10^6 bytes) in all. */
const LAYER_BYTES = 130_000_000 / LAYERS;
/** As many files as a layer of a language's run-time may have. */
const FILES = 50;

/** An image of four layers that cannot be compressed, the same one every time it is made. */
export const benchImages: readonly ImageDefinition[] = [
  {
    references: [BENCH_IMAGE.slice(BENCH_IMAGE.indexOf('/') + 1)],
    layers: Array.from({ length: LAYERS }, (_, index) => noise(index)),
    config: { Env: [PATH], Cmd: ['/none'] },
  },
];

function noise(index: number): LayerDefinition {
  return {
    name: `noise-${index}`,
    async layOut(root) {
      const key = Buffer.alloc(16, index + 1);
      const bytes = createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(LAYER_BYTES));
      const size = LAYER_BYTES / FILES;
      for (let file = 0; file < FILES; file++) await root.file(`noise/${index}/${file}`, bytes.subarray(file * size, (file + 1) * size));
    },
  };
}
