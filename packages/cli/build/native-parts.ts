import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Plugin } from 'esbuild';

/** Below the bundle's directory. */
const DIRECTORY = 'native';

export interface NativeParts {
  readonly plugin: Plugin;
  /** What the bundle loads of native code, by its path there. Complete when the build has ended. */
  files(): Promise<Map<string, Uint8Array>>;
}

/**
 * Native code cannot be bundled: it is laid beside the bundle and found from there.
 *
 * koffi's is a package for each kind of machine that chooses between C libraries; the one of this machine is taken whole. bufferutil's is one
 * file; where there is none for this machine, bufferutil's own JavaScript does its work, as without a bundle.
 */
export function nativeParts(): NativeParts {
  const found = new Map<string, string>();
  return {
    plugin: {
      name: 'native parts',
      setup(build) {
        // Its CommonJS form: what the other one requires esbuild does not see.
        build.onResolve({ filter: /^koffi$/ }, ({ kind, path, resolveDir }) => {
          return kind === 'require-call' ? undefined : build.resolve(path, { kind: 'require-call', resolveDir });
        });
        const koffi = `@koromix/koffi-${process.platform}-${process.arch}`;
        build.onResolve({ filter: /^@koromix\/koffi-/ }, async ({ path, kind, resolveDir, pluginData }) => {
          if (pluginData === DIRECTORY) return undefined;
          if (path === koffi) {
            const { path: main, errors } = await build.resolve(path, { kind, resolveDir, pluginData: DIRECTORY });
            if (errors.length > 0) return { errors };
            for (const file of await filesBelow(dirname(main))) {
              if (/\.(js|node)$/.test(file)) found.set(join(DIRECTORY, 'koffi', relative(dirname(main), file)), file);
            }
          }
          // koffi tries them all and goes on without those that are not there.
          return { path: path === koffi ? `./${DIRECTORY}/koffi/index.js` : path, external: true };
        });
        build.onLoad({ filter: /[\\/]bufferutil[\\/]index\.js$/ }, async ({ path }) => {
          const prebuilt = join(dirname(path), 'prebuilds', `${process.platform}-${process.arch}`, 'bufferutil.node');
          const there = await readFile(prebuilt).then(() => true, () => false);
          if (!there) return { contents: "module.exports = require('./fallback');", loader: 'js' };
          found.set(join(DIRECTORY, 'bufferutil.node'), prebuilt);
          return { contents: `try { module.exports = require('./${DIRECTORY}/bufferutil.node'); } catch { module.exports = require('./fallback'); }`, loader: 'js' };
        });
        build.onResolve({ filter: /native\/bufferutil\.node$/ }, ({ path }) => ({ path, external: true }));
      },
    },
    files: async () => new Map(await Promise.all([...found].map(async ([path, source]) => [path, await readFile(source)] as const))),
  };
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.path, entry.name));
}
