import { open, readdir } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { CniConfigError, type NetworkConfigList } from './network-config.js';
import { folderOf, parseConfig, parseConfigList, type PluginFile } from './parse-config-list.js';

const LIST_EXTENSION = '.conflist';

/** What containerd takes for a network configuration; `.conf` and `.json` hold a single plugin. */
const EXTENSIONS: readonly string[] = ['.conf', LIST_EXTENSION, '.json'];

const PLUGIN_FILE_EXTENSION = '.conf';

/** As in containerd's go-cni: a file that is longer is no configuration. */
const MAX_FILE_BYTES = 2 * 1024 * 1024;

/** Whether a file of this name counts as a network configuration. */
export function isConfigFile(name: string): boolean {
  return EXTENSIONS.includes(extname(name));
}

/** Whether a file of this name in a network's own folder counts as a plugin of it. */
export function isPluginFile(name: string): boolean {
  return extname(name) === PLUGIN_FILE_EXTENSION;
}

/**
 * Loads the `.conf`, `.conflist` and `.json` files of a directory in the byte order of their names, at most `maxLists` of them
 * (0: all). Rejects with CniConfigError when the directory is absent, unreadable or without such a file, and for the first file that
 * is invalid: another network than the administrator's first must not take over silently.
 */
export async function loadConfigLists(dir: string, maxLists = 0): Promise<NetworkConfigList[]> {
  const files = await listFiles(dir, isConfigFile);
  if (files.length === 0) throw new CniConfigError(dir, '', 'no network configuration (*.conf, *.conflist, *.json) in this directory');
  const lists: NetworkConfigList[] = [];
  for (const file of maxLists > 0 ? files.slice(0, maxLists) : files) lists.push(await loadConfigFile(file));
  return lists;
}

/** The first list of a directory; rejects as loadConfigLists. */
export async function loadFirst(dir: string): Promise<NetworkConfigList> {
  const [first] = await loadConfigLists(dir, 1);
  return first as NetworkConfigList; // loadConfigLists rejects rather than resolve to nothing
}

/** Loads one file; a list also takes the plugins of `<directory>/<network name>/*.conf` unless it forbids it. */
export async function loadConfigFile(file: string): Promise<NetworkConfigList> {
  const json = await readText(file);
  if (extname(file) !== LIST_EXTENSION) return parseConfig(json, file);
  const folder = folderOf(json, file);
  return parseConfigList(json, file, folder === undefined ? [] : await readPluginFiles(join(dirname(file), folder)));
}

async function readPluginFiles(folder: string): Promise<PluginFile[]> {
  const plugins: PluginFile[] = [];
  for (const file of await listFiles(folder, isPluginFile)) plugins.push({ file, json: await readText(file) });
  return plugins;
}

/** Paths of the files and links with a wanted name; none when the directory is absent. */
async function listFiles(dir: string, wanted: (name: string) => boolean): Promise<string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true });
    const names = entries.filter((entry) => !entry.isDirectory() && wanted(entry.name)).map((entry) => entry.name);
    return names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map((name) => join(dir, name));
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    throw new CniConfigError(dir, '', `cannot read the directory: ${code}`, { cause });
  }
}

async function readText(file: string): Promise<string> {
  try {
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      if (size > MAX_FILE_BYTES) throw new CniConfigError(file, '', `${size} bytes long; the most is ${MAX_FILE_BYTES}`);
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (cause) {
    if (cause instanceof CniConfigError) throw cause;
    throw new CniConfigError(file, '', `cannot read the file: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
}
