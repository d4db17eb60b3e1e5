import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, Module } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

/*
 * Runs the bundle beside it with the code that V8 made of it when it was built: a third of a start is compilation otherwise. Code of another bundle, of another
 * Node.js or of other flags is not used; V8 itself looks at no more of the source than its length.
 */

const DIGEST_BYTES = 32;

const directory = dirname(fileURLToPath(import.meta.url));
const file = join(directory, 'criquet.js');
const cacheFile = join(directory, 'code-cache');
// Nothing else is there yet that could wait.
const source = readFileSync(file);
const digest = createHash('sha256').update(source).digest();
const [before = '', after = ''] = Module.wrap('\0').split('\0');

const script = new Script(`${before}${withoutShebang(source.toString())}${after}`, {
  filename: file,
  columnOffset: -before.length,
  ...cachedCode(),
});
if (process.env.CRIQUET_WRITE_CODE_CACHE === '1') process.once('exit', writeCache);

const main = { exports: {} };
const run = script.runInThisContext() as (exports: object, require: NodeJS.Require, module: object, filename: string, dirname: string) => void;
run.call(main.exports, main.exports, createRequire(file), main, file, directory);

/** The functions that have run by now are in it, and need not be compiled when they run again. */
function writeCache(): void {
  const beside = `${cacheFile}.${process.pid}.new`;
  writeFileSync(beside, Buffer.concat([digest, script.createCachedData()]));
  renameSync(beside, cacheFile);
}

function cachedCode(): { cachedData?: Buffer } {
  try {
    const cache = readFileSync(cacheFile);
    return cache.subarray(0, DIGEST_BYTES).equals(digest) ? { cachedData: cache.subarray(DIGEST_BYTES) } : {};
  } catch {
    return {};
  }
}

function withoutShebang(text: string): string {
  return text.startsWith('#!') ? `//${text.slice(2)}` : text;
}
