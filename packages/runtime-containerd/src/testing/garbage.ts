import { rmSync } from 'node:fs';
import type { NamespaceState } from './namespace-state.js';

const REF_CONTENT = /^containerd\.io\/gc\.ref\.content(\..*)?$/;
const REF_SNAPSHOT = /^containerd\.io\/gc\.ref\.snapshot\.([^/]+)(?:\/.*)?$/;
const ROOT = 'containerd.io/gc.root';

/**
 * containerd's garbage collection of one namespace: what images, leases and containers do not lead to goes, unless it is
 * labelled as a root. Content and containers lead on by their `gc.ref` labels, a snapshot to its parent.
 */
export function collectGarbage(state: NamespaceState): void {
  const seen = new Set<string>();
  const mark = (node: string): void => {
    if (seen.has(node)) return;
    seen.add(node);
    const [kind = '', first = '', second = ''] = node.split('\n');
    if (kind === 'content') markReferences(state.blobs.get(first)?.info.labels ?? {});
    else if (kind === 'snapshot') {
      const parent = state.snapshots.get(first)?.get(second)?.info.parent ?? '';
      if (parent !== '') mark(snapshotNode(first, parent));
    }
  };
  const markReferences = (labels: Readonly<Record<string, string>>): void => {
    for (const [label, value] of Object.entries(labels)) {
      const snapshotter = REF_SNAPSHOT.exec(label)?.[1];
      if (snapshotter !== undefined) mark(snapshotNode(snapshotter, value));
      else if (REF_CONTENT.test(label)) mark(contentNode(value));
    }
  };

  for (const { target } of state.images.values()) mark(contentNode(target?.digest ?? ''));
  for (const { snapshotter, snapshotKey, labels } of state.containers.values()) {
    mark(snapshotNode(snapshotter, snapshotKey));
    markReferences(labels);
  }
  for (const { resources } of state.leases.values()) {
    for (const { id, type } of resources) {
      if (type === 'content') mark(contentNode(id));
      if (type === 'ingests') mark(`ingest\n${id}`);
      if (type.startsWith('snapshots/')) mark(snapshotNode(type.slice('snapshots/'.length), id));
    }
  }
  for (const { info } of state.blobs.values()) if (ROOT in info.labels) mark(contentNode(info.digest));
  for (const [snapshotter, snapshots] of state.snapshots) {
    for (const { info } of snapshots.values()) if (ROOT in info.labels) mark(snapshotNode(snapshotter, info.name));
  }

  for (const digest of state.blobs.keys()) if (!seen.has(contentNode(digest))) state.blobs.delete(digest);
  for (const [snapshotter, snapshots] of state.snapshots) {
    for (const [key, { dir }] of snapshots) {
      if (seen.has(snapshotNode(snapshotter, key))) continue;
      snapshots.delete(key);
      rmSync(dir, { recursive: true, force: true });
    }
  }
}

function contentNode(digest: string): string {
  return `content\n${digest}`;
}

function snapshotNode(snapshotter: string, key: string): string {
  return `snapshot\n${snapshotter}\n${key}`;
}
