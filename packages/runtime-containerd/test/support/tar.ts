import { readFileSync } from 'node:fs';

export interface TarEntry {
  readonly path: string;
  readonly mode?: number;
  readonly data?: Buffer;
  readonly link?: string;
}

/** A ustar archive. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const blocks: Buffer[] = [];
  for (const { path, mode = 0o755, data = Buffer.alloc(0), link } of entries) {
    const head = Buffer.alloc(512);
    const type = link !== undefined ? '2' : path.endsWith('/') ? '5' : '0';
    head.write(path, 0);
    head.write(`${mode.toString(8).padStart(7, '0')}\0`, 100);
    head.write('0000000\0', 108);
    head.write('0000000\0', 116);
    head.write(`${data.length.toString(8).padStart(11, '0')}\0`, 124);
    head.write('00000000000\0', 136);
    head.write('        ', 148);
    head.write(type, 156);
    if (link !== undefined) head.write(link, 157);
    head.write('ustar\x0000', 257);
    const sum = head.reduce((total, byte) => total + byte, 0);
    head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    blocks.push(head, data, Buffer.alloc((512 - (data.length % 512)) % 512));
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** A root file system with this machine's shell and what it is linked with. */
export function shellRootfs(): Buffer {
  const files = ['/bin/sh', '/bin/cat', '/bin/sleep', '/lib64/ld-linux-x86-64.so.2', '/lib/x86_64-linux-gnu/libc.so.6'];
  return tar([
    ...['bin/', 'lib/', 'lib/x86_64-linux-gnu/', 'lib64/', 'etc/', 'proc/', 'dev/', 'sys/', 'tmp/'].map((path) => ({ path })),
    ...files.map((path) => ({ path: path.slice(1), data: readFileSync(path) })),
  ]);
}
