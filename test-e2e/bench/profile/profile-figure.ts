import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../harness/free-port.js';
import type { Call } from '../call.js';
import { Caller } from '../caller/caller.js';
import { ClientCost } from '../caller/client-cost.js';
import { runFigures, type Watch } from '../run-figures.js';
import { sharedRegistry } from '../shared-registry.js';
import { Side } from '../side.js';
import { formatCosts } from './format-profile.js';
import { Inspector } from './inspector.js';
import { PROFILERS, type Profiler } from './profilers.js';

/** Runs the rounds of a figure on criquet alone under V8's profiler, leaves what it recorded in `call.out`, and returns where the cost was. */
export async function profileFigure({ engine, figures, scale, out }: Call, kind: keyof typeof PROFILERS, say: (line: string) => void): Promise<string> {
  const [figure] = figures;
  if (figure === undefined) throw new Error('no figure');
  const port = await freePort();
  using caller = new Caller();
  await using registry = await sharedRegistry();
  // By package: in the bundle every function is of one file.
  const criquetEnv = { NODE_OPTIONS: `--inspect=127.0.0.1:${port}`, CRIQUET_UNBUNDLED: '1' };
  const side = await Side.start({ engine, runtime: 'criquet', registry, criquetEnv }, caller, new ClientCost());
  try {
    const watch = new ProfiledRounds(port, PROFILERS[kind], out, `${figure.name}`);
    await runFigures({ figures, sides: [side], scale, say, watch });
    return watch.reports.join('\n\n');
  } finally {
    await side.dispose();
  }
}

/** Profiles the counted rounds of each stage into a file of its own. */
class ProfiledRounds implements Watch {
  readonly reports: string[] = [];
  private inspector: Inspector | undefined;

  constructor(
    private readonly port: number,
    private readonly profiler: Profiler,
    private readonly out: string,
    private readonly name: string,
  ) {}

  async begin(): Promise<void> {
    this.inspector = await Inspector.connect(this.port);
    await this.profiler.start(this.inspector);
  }

  async end(): Promise<void> {
    if (this.inspector === undefined) return;
    const { profile, costs } = await this.profiler.stop(this.inspector);
    this.inspector[Symbol.dispose]();
    const stage = this.reports.length === 0 ? '' : `-${this.reports.length + 1}`;
    const file = join(this.out, `${this.name}${stage}.${this.profiler.suffix}`);
    await mkdir(this.out, { recursive: true });
    await writeFile(file, JSON.stringify(profile));
    this.reports.push(formatCosts(costs, file, this.profiler.share));
  }
}
