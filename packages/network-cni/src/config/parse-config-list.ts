import type { NetworkConfigList } from './network-config.js';

/** Parses a `.conflist`. Throws CniConfigError naming file and field. */
export function parseConfigList(_json: string, _file: string): NetworkConfigList {
  throw new Error('to follow');
}

/** Parses a single-plugin `.conf` or `.json` and wraps it into a list of one. */
export function parseConfig(_json: string, _file: string): NetworkConfigList {
  throw new Error('to follow');
}
