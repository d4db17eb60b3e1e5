import { readTextSync } from '../../runtime/read-text-sync.js';
import { dirname } from 'node:path';
import { cgroupDirectory, type NodeFacts } from '../../spec/index.js';

/** Limits at or above this mean "no limit" on cgroup v1: the largest int64, rounded down to whole pages. */
const UNLIMITED = 1n << 62n;

/**
 * The files of one cgroup on v1, v2 or both (hybrid). Whatever cannot be read is absent: a controller that is off, a file that
 * this kernel does not have, a cgroup that went away meanwhile.
 *
 * They are read at once: the kernel makes them from memory and waits for no device, which takes it a few microseconds a file; by the threads of the
 * file system module it takes more than ten times the processor. Whoever reads many does so in {@link LoopTurns}.
 */
export class CgroupFiles {
  private readonly directories = new Map<string, string>();

  constructor(
    readonly version: 'v1' | 'v2',
    private readonly find: (controller: string) => string,
  ) {}

  /** Where the cgroup is in the hierarchy of a controller; the name is without meaning on v2. */
  directory(controller: string): string {
    let directory = this.directories.get(controller);
    if (directory === undefined) this.directories.set(controller, (directory = this.find(controller)));
    return directory;
  }

  /** The cgroup that an OCI `linux.cgroupsPath` names. */
  static of(cgroupsPath: string, node: Pick<NodeFacts, 'cgroup'>, root: string): CgroupFiles {
    return new CgroupFiles(node.cgroup, (controller) => cgroupDirectory(cgroupsPath, node, controller, root));
  }

  /** The cgroup that this one lies in. */
  get parent(): CgroupFiles {
    return new CgroupFiles(this.version, (controller) => dirname(this.directory(controller)));
  }

  text(controller: string, file: string): string | undefined {
    return readTextSync(`${this.directory(controller)}/${file}`);
  }

  /** A file with one number. */
  number(controller: string, file: string): bigint | undefined {
    return wholeNumber(this.text(controller, file)?.trim());
  }

  /** A file with one limit: `unlimited` for `max` (v2) and for what v1 writes in its place. */
  limit(controller: string, file: string): bigint | 'unlimited' | undefined {
    const text = this.text(controller, file)?.trim();
    if (text === 'max' || text === '-1') return 'unlimited';
    const value = wholeNumber(text);
    return value !== undefined && value >= UNLIMITED ? 'unlimited' : value;
  }

  /** A flat keyed file: a name and a number a line. */
  keyed(controller: string, file: string): KeyedFigures | undefined {
    const text = this.text(controller, file);
    return text === undefined ? undefined : new KeyedFigures(text);
  }
}

/** What a flat keyed file says. It is searched for each name, since of some forty lines a few are asked for. */
export class KeyedFigures {
  constructor(private readonly text: string) {}

  get(name: string): bigint | undefined {
    const start = this.text.startsWith(`${name} `) ? 0 : this.text.indexOf(`\n${name} `) + 1;
    if (start === 0 && !this.text.startsWith(`${name} `)) return undefined;
    const end = this.text.indexOf('\n', start);
    return wholeNumber(this.text.slice(start + name.length + 1, end === -1 ? undefined : end));
  }
}

function wholeNumber(text: string | undefined): bigint | undefined {
  return text !== undefined && /^\d+$/.test(text) ? BigInt(text) : undefined;
}
