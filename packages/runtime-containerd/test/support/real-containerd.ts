import { spawn, type ChildProcess } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { connectContainerd } from '../../src/index.js';
import { sleep } from './fixture.js';

/** Names a containerd binary; its shim lies beside it. */
export const binary = process.env.CRIQUET_CONTAINERD ?? '';

/** For tap's `skip`: a reason, or false. */
export const skipReal: string | false = binary === '' ? 'CRIQUET_CONTAINERD names no containerd binary' : false;

/** A containerd of the test's own: private root, state, socket and cgroup names, its CRI plugin disabled. */
export class RealContainerd {
  private child: ChildProcess | undefined;

  private constructor(readonly dir: string) {}

  static async start(): Promise<RealContainerd> {
    const real = new RealContainerd(await mkdtemp(join(tmpdir(), 'rc-')));
    await mkdir(real.hostsDir);
    await writeFile(
      join(real.dir, 'config.toml'),
      `version = 3
root = "${real.dir}/root"
state = "${real.dir}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.nri.v1.nri"]
[grpc]
  address = "${real.address}"
[ttrpc]
  address = "${real.address}.ttrpc"
[plugins."io.containerd.transfer.v1.local"]
  max_concurrent_downloads = 3
`,
    );
    await real.run();
    return real;
  }

  get address(): string {
    return join(this.dir, 'c.sock');
  }

  get hostsDir(): string {
    return join(this.dir, 'hosts');
  }

  /** Has pulls from `host` go to an http registry elsewhere. */
  async mirror(host: string, to: string): Promise<void> {
    await mkdir(join(this.hostsDir, host), { recursive: true });
    await writeFile(join(this.hostsDir, host, 'hosts.toml'), `server = "http://${to}"\n[host."http://${to}"]\n  capabilities = ["pull", "resolve"]\n`);
  }

  async run(): Promise<void> {
    const log = openSync(join(this.dir, 'log'), 'a');
    this.child = spawn(binary, ['-c', join(this.dir, 'config.toml')], {
      stdio: ['ignore', log, log],
      env: { ...process.env, PATH: `${dirname(binary)}:${process.env.PATH ?? ''}` },
    });
    const client = connectContainerd({ address: this.address, namespace: 'x' });
    try {
      for (let i = 0; ; i++) {
        const up = await client.version.get({ timeoutMs: 500 }).then(() => true, () => false);
        if (up) return;
        if (i === 150) throw new Error(`containerd does not answer: ${await readFile(join(this.dir, 'log'), 'utf8')}`);
        await sleep(100);
      }
    } finally {
      client.close();
    }
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  async close(): Promise<void> {
    await this.kill('SIGTERM');
    await rm(this.dir, { recursive: true, force: true });
  }
}
