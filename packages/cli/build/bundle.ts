import { readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { compactMap, type SourceMapDocument } from './compact-map.js';
import { nativeParts } from './native-parts.js';
import { thirdPartyNotices } from './notices.js';
import { replaceFile } from './replace-file.js';

/** What `start.js` keeps there; it says itself of which bundle it is. */
const CODE_CACHE = 'code-cache';

/** Where each program of the bundle begins: its file there, and the module in the checkout. */
const PROGRAMS = {
  criquet: 'packages/cli/dist/src/main.js',
  start: 'packages/cli/dist/src/start.js',
  'netns-worker': 'packages/network-cni/dist/src/netns/netns-worker.js',
};

/**
 * Makes the command of compiled packages one file that starts fast: `criquet.js`, and beside it `start.js`, which runs it with code that was
 * compiled before, the thread for network namespaces, the native parts, a source map and the licences of what is inside. It needs no
 * node_modules and runs wherever the directory is copied to. What is there already and has not changed is left alone, and what has is put in
 * the old file's place, so that a daemon that runs from it goes on.
 *
 * @param root the checkout; what is in its `dist` directories is bundled
 * @param directory where the bundle goes
 */
export async function bundle(root: string, directory: string): Promise<void> {
  const native = nativeParts();
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: PROGRAMS,
    outdir: directory,
    write: false,
    metafile: true,
    bundle: true,
    platform: 'node',
    // A single executable of Node.js wants CommonJS.
    format: 'cjs',
    target: 'node20.11',
    // Names stay, for stack traces and profiles; the rest is memory, and time at the start.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    sourcemap: 'external',
    sourcesContent: false,
    define: { 'import.meta.url': 'bundleUrl' },
    banner: { js: "const bundleUrl=require('node:url').pathToFileURL(__filename).href;" },
    plugins: [native.plugin],
    logLevel: 'warning',
  });
  const files = new Map<string, Uint8Array | string>();
  for (const { path, contents, text } of outputFiles) {
    const file = relative(directory, path);
    files.set(file, file.endsWith('.map') ? JSON.stringify(compactMap(JSON.parse(text) as SourceMapDocument, { root, directory })) : contents);
  }
  for (const [file, contents] of await native.files()) files.set(file, contents);
  files.set('package.json', '{"type":"commonjs"}\n');
  files.set('THIRD-PARTY-NOTICES', await thirdPartyNotices(root, Object.keys(metafile.inputs)));
  for (const [file, contents] of files) await replaceFile(join(directory, file), contents);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.path, entry.name);
    if (!entry.isDirectory() && !files.has(relative(directory, path)) && entry.name !== CODE_CACHE) await rm(path);
  }
}
