import type { Attachment } from '../attachment/attachment.js';
import type { NetworkConfigList } from '../config/network-config.js';
import { parseConfigList } from '../config/parse-config-list.js';
import { compact, isJsonObject, ObjectReader, type JsonObject } from '../json/object-reader.js';
import type { CniResult } from '../result/cni-result.js';
import { formatResult } from '../result/format-result.js';
import { readResult } from '../result/parse-result.js';
import type { CachedAttachment } from './cached-attachment.js';

/** libcni's mark of the format; a file without it is older than CNI 0.8 or something else. */
const KIND = 'cniCacheV1';

/** libcni's `cachedInfo`: the configuration as base64 of its JSON, the result in the configuration's own version. */
export function encodeCacheFile(list: NetworkConfigList, attachment: Attachment, result: CniResult | undefined): string {
  const { containerId, netns, ifName, args, capabilityArgs } = attachment;
  return JSON.stringify(
    compact<Record<string, unknown>>({
      kind: KIND,
      containerId,
      config: Buffer.from(list.bytes).toString('base64'),
      ifName,
      networkName: list.name,
      netns: netns || undefined,
      cniArgs: args.length > 0 ? args : undefined,
      capabilityArgs: Object.keys(capabilityArgs).length > 0 ? capabilityArgs : undefined,
      result: result && formatResult(result, list.cniVersion),
    }),
  );
}

/** undefined for a file that names no attachment. A configuration or result that cannot be read is left out. */
export function decodeCacheFile(json: string, file: string): CachedAttachment | undefined {
  try {
    const raw: unknown = JSON.parse(json);
    if (!isJsonObject(raw) || raw['kind'] !== KIND) return undefined;
    const reader = new ObjectReader(raw, '', (field, reason) => new Error(`${file}: ${field}: ${reason}`));
    const networkName = reader.text('networkName') ?? reader.fail('networkName', 'missing');
    const list = optional(() => parseConfigList(Buffer.from(reader.string('config') ?? '', 'base64').toString(), file));
    const result = reader.object('result');
    return compact<CachedAttachment>({
      networkName,
      attachment: {
        containerId: reader.text('containerId') ?? reader.fail('containerId', 'missing'),
        netns: reader.string('netns') ?? '',
        ifName: reader.text('ifName') ?? reader.fail('ifName', 'missing'),
        args: (reader.list('cniArgs') ?? []).filter(isPair),
        capabilityArgs: reader.object('capabilityArgs')?.raw ?? {},
      },
      list,
      result: result && optional(() => readResult(result.raw as JsonObject, list?.cniVersion ?? '0.1.0', (field) => new Error(field))),
      file,
    });
  } catch {
    return undefined;
  }
}

function isPair(value: unknown): value is [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');
}

function optional<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
