import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import type { CheckpointOptions } from '../gen/types/runc/options/oci.js';
import { FakeStatus } from './fake-status.js';

/** Writes what CRIU leaves of a dump: images where they are wanted, log and statistics in the work directory. Without both, nothing; both directories must be there. */
export async function writeImages(containerId: string, { imagePath, workPath }: CheckpointOptions): Promise<void> {
  if (imagePath === '' || workPath === '') return;
  await Promise.all([
    writeFile(join(imagePath, 'inventory.img'), `inventory of ${containerId}`),
    writeFile(join(imagePath, 'pages-1.img'), `memory of ${containerId}`),
    writeFile(join(workPath, 'dump.log'), '(00.000001) Dumping finished successfully\n'),
    writeFile(join(workPath, 'stats-dump'), 'statistics'),
  ]);
}

/** What a restore needs to be there. */
export async function requireImages(imagePath: string): Promise<void> {
  await access(join(imagePath, 'inventory.img')).catch(() => {
    throw new FakeStatus(status.UNKNOWN, `OCI runtime restore failed: ${imagePath} has no inventory.img`);
  });
}
