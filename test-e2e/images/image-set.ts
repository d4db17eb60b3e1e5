import type { ImageForm, RunConfig } from './oci-image.js';
import type { RootDirectory } from './root-directory.js';

/** One image: its layers from the bottom up, how it runs, and every reference it is pushed under. */
export interface ImageDefinition {
  /** `repository:tag` without a host: the registry is reached under any host that `hosts.toml` maps to it. */
  readonly references: readonly string[];
  /** Layers by name; a layer of one name is built once and shared by the images that list it. */
  readonly layers: readonly LayerDefinition[];
  readonly config: RunConfig;
  readonly form?: ImageForm;
}

export interface LayerDefinition {
  readonly name: string;
  layOut(root: RootDirectory): Promise<void>;
}
