/** The label by which containerd's own CRI plugin, cAdvisor and others tell a sandbox from a container. */
export const KIND_LABEL = 'io.cri-containerd.kind';

export type RecordKind = 'sandbox' | 'container';

/**
 * containerd acts on such labels: its restart monitor runs what a container's say (also as a logger on the node), its garbage collection keeps
 * what they name. Those of pods come from their authors.
 */
const CONTAINERD_LABELS = /^containerd\.io\//;

/** containerd's limit for a label: key and value together (containerd `pkg/labels`). */
const MAX_LABEL_BYTES = 4096;

/**
 * The labels of a record in containerd: the pod's own, for whoever looks at containerd directly. Left out is what containerd would act on, or refuse
 * for its length: the extension has it, and filters never read these.
 */
export function recordLabels(kind: RecordKind, labels: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(labels).filter(
    ([key, value]) => !CONTAINERD_LABELS.test(key) && Buffer.byteLength(key) + Buffer.byteLength(value) <= MAX_LABEL_BYTES,
  );
  return { ...Object.fromEntries(kept), [KIND_LABEL]: kind };
}
