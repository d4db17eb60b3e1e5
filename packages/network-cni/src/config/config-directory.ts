import { EventEmitter } from 'node:events';
import { fingerprint, type DirectoryFingerprint } from './directory-fingerprint.js';
import { loadConfigLists } from './load-config-lists.js';
import { CniConfigError, type NetworkConfigList } from './network-config.js';

export interface ConfigDirectoryOptions {
  /** Absolute path; need not exist. */
  readonly dir: string;
  /** How many lists to load at most, in file name order; 0 is no limit. Default 1, as containerd's max_conf_num. */
  readonly maxLists?: number;
  /** Milliseconds from the end of one look to the next. Default 500. */
  readonly intervalMs?: number;
}

/** `list` is the first of `lists`, the pod's default network. */
export type ConfigState =
  | { readonly list: NetworkConfigList; readonly lists: readonly NetworkConfigList[]; readonly error?: undefined }
  | { readonly error: CniConfigError; readonly list?: undefined; readonly lists?: undefined };

const DEFAULT_INTERVAL_MS = 500;

/** Loads of one look while the files change under it, before it takes what it has and leaves the rest to the next look. */
const MAX_LOADS = 3;

/**
 * Follows a configuration directory. Emits `change` with the new state whenever the outcome of loading it changes.
 *
 * It looks at the files' times twice a second and loads them when they differ. A kernel watch would be no better here: it sticks to
 * the inode, so that a directory that is removed and recreated, a link that is pointed elsewhere or a parent that does not exist yet
 * each need a watch of their own, and a node that has used up its inotify instances gives none. A look costs a few stat calls.
 * A file system that hangs stops the looks, not the process; the last state stays.
 */
export class ConfigDirectory extends EventEmitter<{ change: [ConfigState] }> {
  readonly dir: string;
  readonly #maxLists: number;
  readonly #intervalMs: number;
  #state: ConfigState;
  #seen: DirectoryFingerprint | undefined;
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #following = false;

  constructor(options: ConfigDirectoryOptions) {
    super();
    this.dir = options.dir;
    this.#maxLists = options.maxLists ?? 1;
    this.#intervalMs = options.intervalMs ?? DEFAULT_INTERVAL_MS;
    this.#state = { error: new CniConfigError(options.dir, '', 'not loaded yet') };
  }

  current(): ConfigState {
    return this.#state;
  }

  /** Begins to follow. Resolves after the first look, whatever it found; never rejects. */
  async start(): Promise<void> {
    this.#following = true;
    await this.refresh();
  }

  /** Ends following; resolves when a look under way has ended. The last state stays readable. */
  async close(): Promise<void> {
    this.#following = false;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  /** Looks now instead of at the next interval. Never rejects. */
  async refresh(): Promise<ConfigState> {
    await this.#looking; // its look may have begun before the change that the caller knows of
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      this.#schedule();
    });
    await this.#looking;
    return this.#state;
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#following) this.#timer = setTimeout(() => void this.refresh(), this.#intervalMs);
  }

  async #look(): Promise<void> {
    let before = await fingerprint(this.dir);
    if (before.text === this.#seen?.text && !this.#seen.fresh) return;
    for (let loads = 1; ; loads += 1) {
      const state = await this.#load();
      const after = await fingerprint(this.dir);
      if (after.text === before.text || loads === MAX_LOADS) {
        this.#seen = after.text === before.text ? after : undefined;
        this.#become(state);
        return;
      }
      before = after;
    }
  }

  async #load(): Promise<ConfigState> {
    try {
      const lists = await loadConfigLists(this.dir, this.#maxLists);
      return { list: lists[0] as NetworkConfigList, lists }; // loadConfigLists rejects rather than resolve to nothing
    } catch (error) {
      return { error: error instanceof CniConfigError ? error : new CniConfigError(this.dir, '', String(error), { cause: error }) };
    }
  }

  #become(state: ConfigState): void {
    if (identity(state) === identity(this.#state)) return;
    this.#state = state;
    this.emit('change', state);
  }
}

function identity(state: ConfigState): string {
  return JSON.stringify(state.error === undefined ? state.lists.map(({ file, bytes }) => [file, bytes]) : state.error.message);
}
