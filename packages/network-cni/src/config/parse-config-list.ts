import { networkNameFault } from '../attachment/validate-names.js';
import { describe, isJsonObject, ObjectReader, type JsonObject } from '../json/object-reader.js';
import { isPluginType } from '../plugin/find-plugin.js';
import { CURRENT_CNI_VERSION, isAtLeast, isCniVersion, type CniVersion } from '../version.js';
import { CniConfigError, type NetworkConfig, type NetworkConfigList } from './network-config.js';

/** A plugin object from a file of its own, in the folder named after the network. */
export interface PluginFile {
  readonly file: string;
  readonly json: string;
}

/**
 * Parses a network configuration list (`.conflist`, SPEC.md section 1). Throws CniConfigError naming file and field.
 * @param pluginFiles asked for the plugin files of the network's folder unless the list says `loadOnlyInlinedPlugins`
 */
export function parseConfigList(json: string, file: string, pluginFiles: readonly PluginFile[] = []): NetworkConfigList {
  const reader = readObject(json, file);
  const inlined = reader.list('plugins');
  const loadOnlyInlinedPlugins = flag(reader, 'loadOnlyInlinedPlugins');
  if (inlined === undefined && loadOnlyInlinedPlugins) reader.fail('plugins', 'missing, though loadOnlyInlinedPlugins is true');
  if (inlined?.length === 0) reader.fail('plugins', 'the list is empty');

  const plugins = reader.objects('plugins').map(readPlugin);
  const fromFiles = loadOnlyInlinedPlugins ? [] : pluginFiles.map((plugin) => readPlugin(readObject(plugin.json, plugin.file)));
  const all = [...plugins, ...fromFiles];
  if (all.length === 0) reader.fail('plugins', 'missing, and there is no plugin file in the folder named after the network');
  return {
    name: readName(reader),
    cniVersion: readVersion(reader),
    plugins: all,
    disableCheck: flag(reader, 'disableCheck'),
    disableGC: flag(reader, 'disableGC'),
    loadOnlyInlinedPlugins,
    file,
    bytes: fromFiles.length === 0 ? json : selfContained(reader.raw, all),
  };
}

/** Parses a configuration of a single plugin (`.conf`, `.json`; CNI before 1.0) and makes it a list of one. */
export function parseConfig(json: string, file: string): NetworkConfigList {
  const reader = readObject(json, file);
  if (reader.raw['type'] === undefined && reader.raw['plugins'] !== undefined) {
    reader.fail('type', 'missing; a configuration list belongs into a file that ends in .conflist');
  }
  const plugin = readPlugin(reader);
  const { name, cniVersion } = { name: readName(reader), cniVersion: readVersion(reader) };
  return {
    name,
    cniVersion,
    plugins: [plugin],
    disableCheck: false,
    disableGC: false,
    loadOnlyInlinedPlugins: true,
    file,
    bytes: JSON.stringify({ name, cniVersion, loadOnlyInlinedPlugins: true, plugins: [plugin.raw] }),
  };
}

/** The network's name where it is readable: it is the name of the folder with plugin files. */
export function folderOf(json: string, file: string): string | undefined {
  const reader = readObject(json, file);
  return flag(reader, 'loadOnlyInlinedPlugins') ? undefined : readName(reader);
}

function readObject(json: string, file: string): ObjectReader {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    // Not the parser's own words, which quote the file: a plugin's configuration may hold a password.
    throw new CniConfigError(file, '', json.trim() === '' ? 'the file is empty' : `no JSON${placeOf(cause)}`);
  }
  if (!isJsonObject(value)) throw new CniConfigError(file, '', `expected an object, found ${describe(value)}`);
  return new ObjectReader(value, '', (field, reason) => new CniConfigError(file, field, reason));
}

/** Where the parser stopped, when it says so. */
function placeOf(error: unknown): string {
  const position = /at position (\d+)/.exec((error as Error).message)?.[1];
  return position === undefined ? '' : ` at position ${position}`;
}

function readName(reader: ObjectReader): string {
  const name = reader.string('name') ?? '';
  const fault = networkNameFault(name);
  return fault === undefined ? name : reader.fail('name', fault);
}

/** SPEC.md section 1, "Version considerations": the newest of all given versions that this package speaks. */
function readVersion(reader: ObjectReader): CniVersion {
  const single = reader.text('cniVersion');
  const given = [...(single === undefined ? [] : [single]), ...reader.strings('cniVersions')];
  if (given.length === 0) return '0.1.0';
  const [first, ...others] = given.filter(isCniVersion);
  if (first === undefined) {
    const field = single === undefined ? 'cniVersions' : 'cniVersion';
    reader.fail(field, `none of ${given.map((version) => JSON.stringify(version)).join(', ')} is supported; ${CURRENT_CNI_VERSION} is the newest that is`);
  }
  return others.reduce((newest, version) => (isAtLeast(version, newest) ? version : newest), first);
}

function readPlugin(reader: ObjectReader): NetworkConfig {
  const type = reader.string('type') ?? reader.fail('type', 'missing');
  if (!isPluginType(type)) reader.fail('type', `${JSON.stringify(type)} is no name of an executable`);
  const declared = reader.object('capabilities');
  const capabilities = Object.entries(declared?.raw ?? {}).flatMap(([name, supported]) => {
    if (typeof supported !== 'boolean') declared?.fail(name, `expected true or false, found ${describe(supported)}`);
    return supported === true ? [name] : [];
  });
  return { type, capabilities, raw: reader.raw };
}

/** true or false, also as a string, which libcni takes too. */
function flag(reader: ObjectReader, key: string): boolean {
  const value = reader.raw[key];
  if (value === undefined) return false;
  const text = String(value).toLowerCase();
  if (typeof value === 'boolean' || (typeof value === 'string' && (text === 'true' || text === 'false'))) return text === 'true';
  return reader.fail(key, `expected true or false, found ${typeof value === 'string' ? JSON.stringify(value) : describe(value)}`);
}

function selfContained(raw: JsonObject, plugins: readonly NetworkConfig[]): string {
  return JSON.stringify({ ...raw, loadOnlyInlinedPlugins: true, plugins: plugins.map((plugin) => plugin.raw) });
}
