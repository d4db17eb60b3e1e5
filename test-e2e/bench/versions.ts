import { join } from 'node:path';
import { findTool } from '../harness/environment.js';
import { CALL } from '../harness/pods.js';
import { tryRun } from '../harness/run.js';
import type { BenchRun } from './samples.js';
import type { Side } from './side.js';

/** What was measured, in the words of each program. */
export async function readVersions(plugin: Side): Promise<BenchRun['versions']> {
  const { environment, cri } = plugin.node;
  const { runtimeVersion } = await cri.runtime.version({}, CALL);
  const runc = await tryRun((await findTool(environment, 'runc')) ?? 'runc', ['--version']);
  // Asked for nothing, a plugin says what it is.
  const bridge = await tryRun(join(environment.cniBinDir, 'bridge'), [], { env: { CNI_COMMAND: '' } });
  const commit = await tryRun('git', ['-C', environment.checkout, 'describe', '--always', '--dirty']);
  return {
    criquet: commit.stdout.trim() || 'unknown',
    containerd: runtimeVersion.replace(/^v/, ''),
    runc: /runc version (\S+)/.exec(runc.stdout)?.[1] ?? 'unknown',
    cni: /plugin v?(\d\S*)/.exec(bridge.stdout + bridge.stderr)?.[1] ?? 'unknown',
    node: process.version,
  };
}
