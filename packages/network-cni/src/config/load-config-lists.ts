import type { NetworkConfigList } from './network-config.js';

/**
 * Loads the `.conf`, `.conflist` and `.json` files of a directory in file name order, at most `maxLists` of them (0: all). Rejects
 * with CniConfigError for the first file that is invalid, and when there is none.
 */
export function loadConfigLists(_dir: string, _maxLists = 0): Promise<NetworkConfigList[]> {
  throw new Error('to follow');
}

/** The first list of a directory. */
export function loadFirst(_dir: string): Promise<NetworkConfigList> {
  throw new Error('to follow');
}
