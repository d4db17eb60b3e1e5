import { layOutBaseFiles, PATH } from './base-files.js';
import type { ImageDefinition, LayerDefinition } from './image-set.js';

const busybox: LayerDefinition = {
  name: 'busybox',
  async layOut(root) {
    await layOutBaseFiles(root);
    await root.busybox();
  },
};

/** The image of `examples/*.yaml`: `example.criquet.test/busybox:1`. */
export const exampleImages: readonly ImageDefinition[] = [
  { references: ['busybox:1'], layers: [busybox], config: { Env: [PATH], Cmd: ['sh'] } },
];
