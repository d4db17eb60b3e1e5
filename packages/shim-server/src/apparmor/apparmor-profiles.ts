import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failedPrecondition } from '../errors.js';
import { pathExists } from '../runtime/path-exists.js';
import { DEFAULT_APPARMOR_PROFILE, defaultAppArmorProfile } from './default-profile.js';

export interface AppArmorProfilesOptions {
  /** Whether the kernel has AppArmor and the configuration does not turn it off. */
  readonly enabled: boolean;
  /** The program apparmor_parser(8); "" is looked for in PATH, /usr/sbin and /sbin. */
  readonly parser: string;
  /** Default `/sys`. */
  readonly sys?: string;
  /** AppArmor's own files, other than `/etc/apparmor.d` in tests. */
  readonly policyDir?: string;
}

/** Compiling takes a tenth of a second; on a node that is starved of CPU more. */
const PARSER_MS = 30_000;
/** What is kept of the parser's complaints. */
const MAX_COMPLAINT = 2_000;

/** The AppArmor profiles that the kernel has, and the shim's default one, which is loaded when it is first needed. */
export class AppArmorProfiles {
  private readonly list: string;
  private readonly policyDir: string;
  private loading: Promise<void> | undefined;

  constructor(private readonly options: AppArmorProfilesOptions) {
    this.list = join(options.sys ?? '/sys', 'kernel/security/apparmor/profiles');
    this.policyDir = options.policyDir ?? '/etc/apparmor.d';
  }

  get enabled(): boolean {
    return this.options.enabled;
  }

  /** Whether the kernel has the profile, enforced or not. The list has one line a profile: `name (enforce)`. */
  async isLoaded(name: string): Promise<boolean> {
    const text = await readFile(this.list, 'utf8');
    return text.split('\n').some((line) => line.startsWith(`${name} (`));
  }

  /** Whether the default profile is there or could be loaded. */
  async canLoad(): Promise<boolean> {
    return (await this.isLoaded(DEFAULT_APPARMOR_PROFILE)) || (await this.parser()) !== undefined;
  }

  /**
   * Loads the default profile unless the kernel has it. It stays when the daemon ends: containers run under it.
   *
   * @throws FAILED_PRECONDITION without the parser, or with what it complains of.
   */
  async loadDefault(): Promise<void> {
    if (await this.isLoaded(DEFAULT_APPARMOR_PROFILE)) return;
    this.loading ??= this.load().finally(() => (this.loading = undefined));
    await this.loading;
  }

  private async load(): Promise<void> {
    const parser = await this.parser();
    const what = `the default AppArmor profile ${DEFAULT_APPARMOR_PROFILE} is not loaded`;
    if (parser === undefined) throw failedPrecondition(`${what}, and there is no apparmor_parser on this node to load it`);
    const [abi, tunables, base] = await Promise.all(
      ['abi/3.0', 'tunables/global', 'abstractions/base'].map((file) => pathExists(join(this.policyDir, file), constants.R_OK)),
    );
    const profile = defaultAppArmorProfile({ abi: abi === true, tunables: tunables === true, base: base === true });
    const { ended, complaint } = await feed(parser, profile);
    // The parser does not always end with an error when it should; what counts is what the kernel has.
    if (ended === 0 && (await this.isLoaded(DEFAULT_APPARMOR_PROFILE))) return;
    throw failedPrecondition(`${what}, and ${parser} did not load it: ${complaint || `it ended with ${ended}`}`);
  }

  private async parser(): Promise<string | undefined> {
    const { parser } = this.options;
    const directories = [...(process.env['PATH'] ?? '').split(':').filter(Boolean), '/usr/sbin', '/sbin'];
    const candidates = parser === '' ? directories.map((directory) => join(directory, 'apparmor_parser')) : [parser];
    for (const candidate of candidates) if (await pathExists(candidate, constants.X_OK)) return candidate;
    return undefined;
  }
}

/** Gives the parser a profile to load, or to put in the place of an old one. @returns its exit code or signal, and what it complained of */
function feed(parser: string, profile: string): Promise<{ ended: number | string; complaint: string }> {
  return new Promise((resolve) => {
    const child = spawn(parser, ['--replace', '--skip-cache'], { stdio: ['pipe', 'ignore', 'pipe'], timeout: PARSER_MS, killSignal: 'SIGKILL' });
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(0, MAX_COMPLAINT)));
    child.on('error', (error) => resolve({ ended: 'an error', complaint: error.message }));
    child.on('close', (code, signal) => resolve({ ended: code ?? signal ?? 'nothing', complaint: complaint.trim() }));
    // A parser that ends early says why itself.
    child.stdin.on('error', () => undefined).end(profile);
  });
}
