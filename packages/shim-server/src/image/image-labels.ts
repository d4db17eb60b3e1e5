/** The label of image records that a CRI runtime made (containerd `internal/cri/labels`). */
export const IMAGE_LABEL = { 'io.cri-containerd.image': 'managed' } as const;

const PINNED = 'io.cri-containerd.pinned';

/** The labels of an image that garbage collection must leave alone. */
export const PINNED_LABEL = { [PINNED]: 'pinned' } as const;

export function isPinned(labels: Readonly<Record<string, string>>): boolean {
  return labels[PINNED] === 'pinned';
}
