import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../../checkpoint/checkpoint-directory.js';
import { isObjectId } from '../../state/object-id.js';
import type { Holding, HoldingKind } from '../holding.js';

/** Names of a directory's entries; none where it is not there, or where something else stands in its place. */
export async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}

/** Directories of criquet's own that are named after the sandbox or container they belong to; what is mounted below is unmounted, not emptied. */
export async function objectDirectories(kind: HoldingKind, parent: string): Promise<Holding[]> {
  const ids = (await namesIn(parent)).filter(isObjectId);
  return ids.map((id) => {
    const path = join(parent, id);
    return { kind, name: path, owner: { object: id }, certain: true, remove: () => removeTree(path) };
  });
}
