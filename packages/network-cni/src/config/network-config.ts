import type { JsonObject } from '../json/object-reader.js';
import type { CniVersion } from '../version.js';

/** One plugin of a list (SPEC.md section 1, "Plugin configuration objects"). */
export interface NetworkConfig {
  /** Name of the executable. */
  readonly type: string;
  /** The capabilities declared with the value true (section 3, "Deriving runtimeConfig"). */
  readonly capabilities: readonly string[];
  /** The whole object; every field reaches the plugin unchanged, known or not. */
  readonly raw: JsonObject;
}

/** A network configuration (SPEC.md section 1, "Configuration format"). */
export interface NetworkConfigList {
  readonly name: string;
  /** The newest version of `cniVersion` and `cniVersions` that this package speaks; 0.1.0 when neither is there. */
  readonly cniVersion: CniVersion;
  readonly plugins: readonly NetworkConfig[];
  /** CHECK always succeeds and runs no plugin. Default false. */
  readonly disableCheck: boolean;
  /** GC does nothing. Default false. */
  readonly disableGC: boolean;
  /** Plugin files in the folder named after the network are not read. Default false. */
  readonly loadOnlyInlinedPlugins: boolean;
  /** The file it came from; a word in parentheses when it came from elsewhere, e.g. `(cache)`. */
  readonly file: string;
  /**
   * The list as JSON, complete in itself: a single-plugin `.conf` wrapped into a list, plugins of the network's own folder
   * included. This is what the cache keeps for DEL.
   */
  readonly bytes: string;
}

/** A configuration file that cannot be used. */
export class CniConfigError extends Error {
  override readonly name = 'CniConfigError';

  constructor(
    /** The file or directory at fault. */
    readonly file: string,
    /** The field at fault as a path (`plugins[1].type`); empty when the whole is. */
    readonly field: string,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`CNI configuration ${file}: ${field === '' ? '' : `${field}: `}${reason}`, options);
  }
}
