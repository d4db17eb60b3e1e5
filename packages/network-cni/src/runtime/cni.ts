import type { Attachment } from '../attachment/attachment.js';
import { cniArgsFault } from '../attachment/cni-args.js';
import { containerIdFault, interfaceNameFault, networkNameFault } from '../attachment/validate-names.js';
import { AttachmentCache } from '../cache/attachment-cache.js';
import type { CachedAttachment } from '../cache/cached-attachment.js';
import { CniError, CniErrorCode, type CniCommand } from '../cni-error.js';
import type { NetworkConfigList } from '../config/network-config.js';
import { attachmentRequest, networkRequest } from '../config/request-config.js';
import { invokePlugin, locatePlugin, NO_PARAMETERS, type PluginHost } from '../plugin/invoke-plugin.js';
import { pickPluginEnvironment } from '../plugin/plugin-environment.js';
import type { PluginRunner } from '../plugin/plugin-runner.js';
import { ProcessPluginRunner } from '../plugin/process-plugin-runner.js';
import type { CniResult } from '../result/cni-result.js';
import { formatResult } from '../result/format-result.js';
import { parseResult } from '../result/parse-result.js';
import { isAtLeast } from '../version.js';
import { OperationLock } from './operation-lock.js';
import { DEFAULT_OPERATION_TIMEOUT_MS, Operation, type OperationOptions } from './operation.js';
import { probeVersions } from './probe-versions.js';

export interface CniOptions {
  /** Searched in this order; also CNI_PATH of every plugin. */
  readonly binDirs: readonly string[];
  /** Attachments are stored below its `results`, as libcni stores them below /var/lib/cni. */
  readonly cacheDir: string;
  /** Default: a ProcessPluginRunner. */
  readonly runner?: PluginRunner;
  /** Milliseconds for a whole operation, all its plugins together, unless the call gives its own. Default 120,000. */
  readonly defaultTimeoutMs?: number;
  /** What plugins see of the environment beside CNI_*. Default: pickPluginEnvironment(process.env). */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Names an attachment that is still in use (SPEC.md section 2, GC). */
export interface ValidAttachment {
  readonly containerId: string;
  readonly ifName: string;
}

/**
 * The CNI runtime: carries out the operations of SPEC.md section 3 on network configuration lists.
 *
 * Operations on one container run one after the other, those on different containers together; GC runs alone. All of them reject
 * with CniError (GC with an AggregateError of them). Use one object for one cache directory.
 */
export class Cni {
  readonly #host: PluginHost;
  readonly #cache: AttachmentCache;
  readonly #timeoutMs: number;
  readonly #lock = new OperationLock();

  constructor(options: CniOptions) {
    this.#host = {
      binDirs: options.binDirs,
      runner: options.runner ?? new ProcessPluginRunner(),
      environment: options.environment ?? pickPluginEnvironment(process.env),
    };
    this.#cache = new AttachmentCache(options.cacheDir);
    this.#timeoutMs = options.defaultTimeoutMs ?? DEFAULT_OPERATION_TIMEOUT_MS;
  }

  /**
   * Attaches a container: runs every plugin with the result of the one before it and resolves to the last result.
   *
   * The attachment is in the cache before the first plugin runs, so that one whose ADD failed or whose runtime was killed is found
   * again. ADD undoes nothing: after a failure DEL must follow, except after code 3 (UnknownContainer). That all executables are
   * there is checked before any of them runs.
   */
  async add(list: NetworkConfigList, attachment: Attachment, options: OperationOptions = {}): Promise<CniResult> {
    const operation = this.#begin('ADD', list.name, options);
    validate(operation, attachment, true);
    return this.#lock.shared(attachment.containerId, operation, async () => {
      for (const { type } of list.plugins) await locatePlugin(this.#host, operation, type);
      await this.#store(operation, list, attachment);
      let result: CniResult | undefined;
      for (const plugin of list.plugins) {
        const previous = result && formatResult(result, list.cniVersion);
        const request = attachmentRequest(list, plugin, attachment.capabilityArgs, previous);
        const stdout = await invokePlugin(this.#host, operation, plugin.type, attachment, request);
        result = parseResult(stdout, list.cniVersion, { command: 'ADD', plugin: plugin.type, network: list.name });
      }
      if (result === undefined) throw operation.error({ failure: 'input', msg: 'the configuration has no plugins' });
      await this.#store(operation, list, attachment, result);
      return result;
    });
  }

  /**
   * Detaches a container: runs the plugins in reverse order with the stored result (from 0.4.0 on) and removes the attachment from
   * the cache. Stops at the first plugin that fails; the attachment stays in the cache, and DEL can be repeated. Succeeds for what
   * was never attached, as far as the plugins do.
   */
  async del(list: NetworkConfigList, attachment: Attachment, options: OperationOptions = {}): Promise<void> {
    const operation = this.#begin('DEL', list.name, options);
    validate(operation, attachment, false);
    await this.#lock.shared(attachment.containerId, operation, () => this.#detach(operation, list, attachment));
  }

  /**
   * DEL by what the cache holds: configuration, args and capability args of the ADD. For an attachment whose configuration has
   * changed or is gone. `netns` replaces the stored path; give '' when the netns is gone. `list` is used where the cache holds no
   * configuration that can be read.
   */
  async delCached(cached: CachedAttachment, options: OperationOptions & { readonly netns?: string; readonly list?: NetworkConfigList } = {}): Promise<void> {
    const operation = this.#begin('DEL', cached.networkName, options);
    const list = cached.list ?? options.list;
    if (list === undefined) throw operation.error({ failure: 'input', msg: `no usable configuration in ${cached.file}` });
    await this.del(list, { ...cached.attachment, netns: options.netns ?? cached.attachment.netns }, options);
  }

  /**
   * Asks every plugin whether the attachment is as ADD left it. Does nothing when the list disables it. Rejects with failure `input`
   * for versions before 0.4.0, which do not have CHECK, and for an attachment whose ADD has not succeeded.
   */
  async check(list: NetworkConfigList, attachment: Attachment, options: OperationOptions = {}): Promise<void> {
    const operation = this.#begin('CHECK', list.name, options);
    validate(operation, attachment, true);
    if (!isAtLeast(list.cniVersion, '0.4.0')) {
      const msg = `a configuration of version ${list.cniVersion} has no CHECK`;
      throw operation.error({ failure: 'input', code: CniErrorCode.IncompatibleVersion, msg });
    }
    if (list.disableCheck) return;
    await this.#lock.shared(attachment.containerId, operation, async () => {
      const cached = await this.#cache.read(attachment.containerId, list.name, attachment.ifName);
      if (cached?.result === undefined) throw operation.error({ failure: 'input', msg: `${attachment.containerId} is not attached` });
      const previous = formatResult(cached.result, list.cniVersion);
      for (const plugin of list.plugins) {
        const request = attachmentRequest(list, plugin, attachment.capabilityArgs, previous);
        await invokePlugin(this.#host, operation, plugin.type, attachment, request);
      }
    });
  }

  /**
   * Frees what no valid attachment uses: DEL for every other attachment of this network in the cache, then, from 1.1.0 on, GC for
   * every plugin. Goes on after an error and rejects with an AggregateError in the end. Does nothing when the list disables it.
   *
   * Waits until no other operation runs without holding new ones up; those that come while it runs wait for it. `valid` may be a
   * function: it is asked when nothing else runs any more, so that no ADD is missing in what it answers.
   */
  async gc(list: NetworkConfigList, valid: readonly ValidAttachment[] | (() => Promise<readonly ValidAttachment[]>), options: OperationOptions = {}): Promise<void> {
    if (list.disableGC) return;
    const operation = this.#begin('GC', list.name, options);
    const failures: unknown[] = [];
    await this.#lock.exclusive(operation, async () => {
      const inUse = typeof valid === 'function' ? await valid() : valid;
      for (const stale of await this.#stale(list.name, inUse)) {
        await this.#detach(operation.as('DEL'), stale.list ?? list, stale.attachment).catch((error) => failures.push(error));
      }
      if (!isAtLeast(list.cniVersion, '1.1.0')) return;
      const attachments = inUse.map(({ containerId, ifName }) => ({ containerID: containerId, ifname: ifName }));
      // early 1.1 plugins were built against libcni that used the second name
      const extra = { 'cni.dev/valid-attachments': attachments, 'cni.dev/attachments': attachments };
      for (const plugin of list.plugins) {
        const request = networkRequest(list, plugin, extra);
        await invokePlugin(this.#host, operation, plugin.type, NO_PARAMETERS, request).catch((error) => failures.push(error));
      }
    });
    if (failures.length > 0) {
      const messages = failures.map((failure) => (failure instanceof Error ? failure.message : String(failure)));
      throw new AggregateError(failures, `CNI GC network ${list.name}: ${messages.join('; ')}`);
    }
  }

  /**
   * Asks every plugin whether it could serve an ADD. Rejects with the first plugin's error: codes 50 and 51 say that it is not
   * available. Does nothing for versions before 1.1.0, which do not have STATUS.
   */
  async status(list: NetworkConfigList, options: OperationOptions = {}): Promise<void> {
    if (!isAtLeast(list.cniVersion, '1.1.0')) return;
    const operation = this.#begin('STATUS', list.name, options);
    for (const plugin of list.plugins) {
      await invokePlugin(this.#host, operation, plugin.type, NO_PARAMETERS, networkRequest(list, plugin));
    }
  }

  /** The versions of the specification that a plugin supports. */
  async version(pluginType: string, options: OperationOptions = {}): Promise<string[]> {
    return probeVersions(this.#host, this.#begin('VERSION', '', options), pluginType);
  }

  /** Rejects unless every plugin of the list is there and supports the list's version. */
  async validate(list: NetworkConfigList, options: OperationOptions = {}): Promise<void> {
    const operation = this.#begin('VERSION', list.name, options);
    for (const type of new Set(list.plugins.map((plugin) => plugin.type))) {
      const versions = await probeVersions(this.#host, operation, type);
      if (versions.includes(list.cniVersion)) continue;
      const msg = `does not support version ${list.cniVersion} but ${versions.join(', ')}`;
      throw operation.error({ failure: 'input', plugin: type, code: CniErrorCode.IncompatibleVersion, msg });
    }
  }

  /**
   * What the cache holds, in the order of the file names; an attachment without `result` has an ADD that did not succeed. Damaged files are
   * among those of one container only, without `list`: `delCached` needs one then.
   */
  async cachedAttachments(filter: { readonly containerId?: string } = {}): Promise<CachedAttachment[]> {
    return this.#cache.readAll(filter.containerId);
  }

  /** Removes from the cache what a process that was killed in the middle of writing has left of a container; waits for operations on it. */
  async removeUnfinished(containerId: string, options: OperationOptions = {}): Promise<void> {
    const operation = this.#begin('DEL', '', options);
    await this.#lock.shared(containerId, operation, () => this.#cache.removeUnfinished(containerId));
  }

  /** Names of files in the cache that are no readable attachment: `<network>-<containerId>-<ifName>` where one was damaged. */
  async unreadableAttachments(): Promise<string[]> {
    return this.#cache.unreadable();
  }

  /** One attachment of the cache; undefined when there is none that can be read, or a name is invalid. */
  async cached(containerId: string, networkName: string, ifName: string): Promise<CachedAttachment | undefined> {
    if (containerIdFault(containerId) ?? networkNameFault(networkName) ?? interfaceNameFault(ifName)) return undefined;
    return this.#cache.read(containerId, networkName, ifName);
  }

  #begin(command: CniCommand, network: string, options: OperationOptions): Operation {
    return new Operation(command, network, options, this.#timeoutMs);
  }

  async #detach(operation: Operation, list: NetworkConfigList, attachment: Attachment): Promise<void> {
    const { containerId, ifName, capabilityArgs } = attachment;
    const cached = isAtLeast(list.cniVersion, '0.4.0') ? await this.#cache.read(containerId, list.name, ifName) : undefined;
    const previous = cached?.result && formatResult(cached.result, list.cniVersion);
    for (const plugin of [...list.plugins].reverse()) {
      const request = attachmentRequest(list, plugin, capabilityArgs, previous);
      await invokePlugin(this.#host, operation, plugin.type, attachment, request);
    }
    // the network is undone; a file that stays makes a later GC repeat a DEL, which plugins must accept
    await this.#cache.remove(containerId, list.name, ifName).catch(() => undefined);
  }

  async #store(operation: Operation, list: NetworkConfigList, attachment: Attachment, result?: CniResult): Promise<void> {
    try {
      await this.#cache.write(list, attachment, result);
    } catch (cause) {
      const msg = `cannot store the attachment: ${(cause as NodeJS.ErrnoException).code ?? String(cause)}`;
      throw operation.error({ failure: 'storage', msg, cause });
    }
  }

  async #stale(network: string, valid: readonly ValidAttachment[]): Promise<CachedAttachment[]> {
    const inUse = ({ attachment }: CachedAttachment): boolean =>
      valid.some(({ containerId, ifName }) => containerId === attachment.containerId && ifName === attachment.ifName);
    return (await this.#cache.readAll()).filter((cached) => cached.networkName === network && !inUse(cached));
  }
}

function validate(operation: Operation, attachment: Attachment, needsNetns: boolean): void {
  const { containerId, netns, ifName, args } = attachment;
  const name = networkNameFault(operation.network);
  const netnsFault =
    netns.startsWith('/') || (netns === '' && !needsNetns) ? undefined : `netns: ${JSON.stringify(netns)} is no absolute path`;
  const fault =
    (name && `network name: ${name}`) ?? containerIdFault(containerId) ?? interfaceNameFault(ifName) ?? netnsFault ?? cniArgsFault(args);
  if (fault !== undefined) {
    throw new CniError({ failure: 'input', command: operation.command, plugin: '', network: operation.network, code: CniErrorCode.InvalidEnvironment, msg: fault });
  }
}
