import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../harness/environment.js';
import { tryRun, type RunResult } from '../harness/run.js';

/** Where criquet-node and criquet-pod write. */
const WRITTEN = ['/etc', '/usr/local', '/var/lib', '/opt'];

/** A release tree, with this checkout's command in it; whether that starts at all is not asked here. */
export async function layOutTree({ checkout }: Environment, tree: string, release: string): Promise<void> {
  for (const path of ['bin', 'share']) await mkdir(join(tree, path), { recursive: true });
  await cp(join(checkout, 'deploy/node'), join(tree, 'libexec'), { recursive: true });
  for (const file of ['criquet.service', 'config.toml', 'node/criquet-switch.service', 'node/criquet-rollback.service']) {
    await cp(join(checkout, 'deploy', file), join(tree, 'share', file.replace(/.*\//, '')));
  }
  await writeFile(join(tree, 'release'), `${release}\n`);
  await writeProgram(join(tree, 'bin/criquet'), `[ "$1" != --version ] || exec echo criquet\nexec ${checkout}/scripts/criquet "$@"`);
}

/** A program of shell code. */
export async function writeProgram(file: string, code: string): Promise<void> {
  await writeFile(file, `#!/bin/bash\n${code}\n`);
  await chmod(file, 0o755);
}

/**
 * This machine's files as a node's, for criquet-node as it is installed: what is written goes to layers that nobody else sees, and systemd does
 * not run there.
 */
export class OverlaidNode {
  private constructor(
    readonly pid: number,
    private readonly environment: Record<string, string>,
    /** For files of a test; it is the same on the node and outside. */
    readonly directory: string,
    /** The release tree that {@link criquetNode} runs from. */
    readonly tree: string,
  ) {}

  static async open(environment: Environment, t: { teardown: (undo: () => unknown) => unknown }): Promise<OverlaidNode> {
    const directory = await mkdtemp(join(environment.root, 'criquet-overlaid-'));
    t.teardown(() => rm(directory, { recursive: true, force: true }));
    const tree = join(directory, 'opt/criquet');
    for (const path of ['bin', 'layers']) await mkdir(join(directory, path), { recursive: true });
    await layOutTree(environment, tree, 'test');
    await writeProgram(join(directory, 'bin/systemctl'), 'exit 1');

    const overlays = WRITTEN.map((path, index) => {
      const layer = join(directory, 'layers', String(index));
      return `mkdir -p ${layer}/upper ${layer}/work && mount -t overlay -o lowerdir=${path},upperdir=${layer}/upper,workdir=${layer}/work overlay ${path}`;
    });
    const steps = [
      // Its own file system: an overlay cannot have another one as its upper layer.
      `mount -t tmpfs tmpfs ${directory}/layers`,
      '{ [ ! -d /run/systemd/system ] || mount -t tmpfs tmpfs /run/systemd; }',
      ...overlays,
      'rm -rf /etc/criquet /var/lib/criquet /var/lib/criquet-node /usr/local/bin/criquet /etc/systemd/system/criquet* /opt/criquet*',
      'echo ready',
      'exec sleep infinity',
    ];
    const child = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', steps.join(' && ')], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    t.teardown(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    await Promise.race([once(child.stdout, 'data'), ended.then(() => Promise.reject(new Error('no mount namespace with overlays')))]);
    const engine = Object.values(environment.containerd).at(-1) ?? '';
    return new OverlaidNode(child.pid ?? 0, { PATH: `${directory}/bin:${engine}:${process.env.PATH ?? ''}` }, directory, tree);
  }

  /** Runs shell code on the node. */
  shell(code: string, env: Readonly<Record<string, string>> = {}): Promise<RunResult> {
    return tryRun('nsenter', ['--target', String(this.pid), '--mount', '--', 'bash', '-c', code], { env: { ...this.environment, ...env } });
  }

  criquetNode(...words: readonly string[]): Promise<RunResult> {
    return this.shell(`${this.tree}/libexec/criquet-node ${words.join(' ')}`);
  }

  /** Every file of criquet on the node, with the sum of what is in it. */
  async files(): Promise<string[]> {
    const { stdout } = await this.shell('find /etc/criquet /etc/systemd/system/criquet* /usr/local/bin/criquet ! -type d -exec md5sum {} + 2>/dev/null; cat /var/lib/criquet-node/state 2>/dev/null');
    return stdout.split('\n').filter((line) => line !== '').sort();
  }
}
