import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'tap';
import { Shim } from './shim-harness.js';

const DOCUMENT = join(import.meta.dirname, '../../../../../SECURITY.md');

interface Row {
  /** As it stands in the table: `<state_dir>/io/<id>/*`. */
  readonly path: string;
  readonly kind: string;
  readonly mode: number;
}

/** The rows `| `path` | kind | mode | … |` below the heading "Sockets and files". */
async function documented(): Promise<Row[]> {
  const text = await readFile(DOCUMENT, 'utf8');
  const section = /^## Sockets and files$([\s\S]*?)^## /m.exec(text)?.[1] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` \| (\w+) \| `(\d{4})` \|/gm)].map(([, path = '', kind = '', mode = '']) => ({ path, kind, mode: parseInt(mode, 8) }));
}

/** Everything below the directories, where no file system of a pod begins. */
async function walk(path: string, found: string[] = []): Promise<string[]> {
  found.push(path);
  const entry = await lstat(path);
  if (!entry.isDirectory() || path.endsWith('/shm')) return found;
  for (const name of await readdir(path)) await walk(join(path, name), found);
  return found;
}

const KINDS: Readonly<Record<number, string>> = { 0o140000: 'socket', 0o120000: 'link', 0o100000: 'file', 0o040000: 'directory', 0o010000: 'FIFO' };

test('sockets and files of a started daemon have the modes that SECURITY.md says, and there are no others', async (t) => {
  // As `criquet serve` sets it.
  const umask = process.umask(0o022);
  t.teardown(() => process.umask(umask));
  const rows = await documented();
  t.ok(rows.length > 15, `${rows.length} rows`);
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const container = await shim.startContainer(pod, { stdin: true });
  const archive = join(shim.dir, 'checkpoint.tar');
  await shim.cri.runtime.checkpointContainer({ containerId: container, location: archive });
  const { stateDir, rootDir, cni, listen, containerd } = shim.config;
  const places: Readonly<Record<string, string>> = {
    '<listen>': listen.replace('unix://', ''),
    '<state_dir>': stateDir,
    '<root_dir>': rootDir,
    '<cni.cache_dir>': cni.cacheDir,
    '<log_directory>': join(shim.dir, 'logs'),
    '<location>': archive,
    '<containerd.address>': containerd.address,
  };
  const patterns = rows.map((row) => {
    const place = Object.keys(places).find((name) => row.path.startsWith(name));
    const rest = row.path.slice(place?.length ?? 0).replace(/[.+()]/g, '\\$&').replaceAll('<id>', '[0-9a-f]{64}').replaceAll('*', '[^/]+');
    return { row, pattern: new RegExp(`^${(places[place ?? ''] ?? 'nowhere').replace(/[.+]/g, '\\$&')}${rest}$`), seen: 0 };
  });
  const lock = `${containerd.address}.criquet-${containerd.namespace}.lock`;
  const paths = [...(await Promise.all([stateDir, rootDir, cni.cacheDir, join(shim.dir, 'logs')].map((path) => walk(path)))).flat(), listen.replace('unix://', ''), lock, archive];
  for (const path of paths) {
    const { mode, uid, gid } = await lstat(path);
    const found = patterns.find(({ pattern }) => pattern.test(path));
    if (found === undefined) {
      t.fail(`${path} (${(mode & 0o7777).toString(8)}) is not in SECURITY.md`);
      continue;
    }
    found.seen += 1;
    t.equal((mode & 0o7777).toString(8), found.row.mode.toString(8), path);
    t.equal(KINDS[mode & 0o170000], found.row.kind, path);
    t.same([uid, gid], [0, 0], path);
  }
  // Namespaces are not real here: test-e2e/lifecycle/user-namespaces looks at their files.
  for (const { row, seen } of patterns) t.ok(seen > 0 || /\/(?:netns|userns)/.test(row.path), `${row.path} is there`);
});
