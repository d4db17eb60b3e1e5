import { elfFile } from '../static-program/elf-file.js';
import { pauseCode } from './pause-code.js';

/**
 * The pause executable.
 *
 * @param arch Node's name of the architecture.
 * @throws Error when there is no pause program for it.
 */
export function pauseProgram(arch: string = process.arch): Buffer {
  const code = pauseCode[arch];
  if (code === undefined) {
    throw new Error(`no built-in pause for the architecture ${arch}: set sandbox_image in the configuration`);
  }
  return elfFile(code);
}
