import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Layout } from '../state/layout.js';
import { elfFile } from '../static-program/elf-file.js';
import { writeProgram } from '../static-program/write-program.js';
import { usernsChildCode } from './userns-child-code.js';
import { makeDirectories } from '../runtime/make-directories.js';

/**
 * Lays out the program in which network namespaces of pods with a user namespace are born, and returns its path; undefined on an
 * architecture that has none. The file is named after the program's digest, as an upgraded criquet may lay out another.
 */
export async function layOutUsernsChild(layout: Layout, arch: string = process.arch): Promise<string | undefined> {
  const code = usernsChildCode[arch];
  if (code === undefined) return undefined;
  const program = elfFile(code);
  const path = layout.usernsChild(createHash('sha256').update(program).digest('hex').slice(0, 16));
  await makeDirectories(dirname(path), 0o755);
  await writeProgram(path, program);
  return path;
}
