import { join } from 'node:path';
import type { SpecResult } from '../report/junit.js';
import { readSkipList } from '../critest/skip-list.js';
import { judge, type Verdict } from '../critest/verdicts.js';
import { findTool, type Engine, type Environment } from '../harness/environment.js';
import { KUBELET_SWITCH, NODE_REBOOT, type GuestStep } from './guest-job.js';
import type { GuestKernel } from './guest-kernel.js';
import { judgeNames, readSpecNames } from './spec-names.js';

/** One guest, what it does and what must come of it. */
export interface GuestPlan {
  readonly name: string;
  readonly kernel: GuestKernel;
  readonly steps: readonly GuestStep[];
  /** What must come of a critest step. */
  readonly judge: (results: readonly SpecResult[]) => Verdict[];
  /** Milliseconds after which the guest is ended. */
  readonly timeoutMs: number;
  /** See `GuestRun`. */
  readonly powerCut?: boolean;
}

/** The suites that run in both kinds of guest. */
const SYSTEMD_NODE = 'vm/in-guest/systemd-node.test.js';

/** Suites of an ordinary node that say something else on cgroup v2 and systemd; too long for an emulated CPU. */
const LIFECYCLE = ['stats', 'update-resources', 'containers', 'pod-life', 'daemon-restart'];

/** Without hardware virtualisation a node's start alone takes half a minute, so CI gets a choice of specs. */
export async function chosenGuests(environment: Environment, whole: boolean): Promise<GuestPlan[]> {
  const list = (name: string) => readSpecNames(join(environment.checkout, 'test-e2e', 'vm', name));
  const engine = newestEngine(environment);
  const choice = await list('critest-qemu.txt');
  const qemu: GuestPlan = {
    name: "QEMU without KVM, Debian's kernel",
    kernel: 'qemu',
    steps: [
      { kind: 'critest', name: 'critest', engine, runtime: 'criquet', specs: choice, parallel: 3 },
      { kind: 'suite', name: 'systemd-node', engine, file: SYSTEMD_NODE },
    ],
    judge: (results) => judgeNames(results, choice),
    // Beside other suites it has not the machine to itself.
    timeoutMs: 20 * 60_000,
  };
  if (!whole) return [qemu];
  const skips = await readSkipList(join(environment.checkout, 'test-e2e', 'critest', 'skips'));
  const engines = Object.keys(environment.containerd) as Engine[];
  // The kubelet is built where the suites under Kubernetes run.
  const withKubelet = (await findTool(environment, 'kubelet')) !== undefined;
  const uml: GuestPlan = {
    name: 'user-mode Linux',
    kernel: 'uml',
    steps: [
      ...engines.map((version): GuestStep => ({ kind: 'critest', name: `critest-${version}`, engine: version, runtime: 'criquet' })),
      { kind: 'suite', name: 'systemd-node', engine, file: SYSTEMD_NODE },
      ...(withKubelet ? [{ kind: 'suite', name: 'kubelet-switch', engine, file: KUBELET_SWITCH } as const] : []),
      ...LIFECYCLE.map((name): GuestStep => ({ kind: 'suite', name, engine, file: `lifecycle/${name}.test.js` })),
    ],
    judge: (results) => judge(results, skips, { apparmor: true }),
    timeoutMs: 90 * 60_000,
  };
  const reboot: GuestPlan = {
    name: 'user-mode Linux, whose power is cut',
    kernel: 'uml',
    steps: [{ kind: 'suite', name: 'node-reboot', engine, file: NODE_REBOOT }],
    judge: () => [],
    timeoutMs: 20 * 60_000,
    powerCut: true,
  };
  return [qemu, uml, ...(withKubelet ? [reboot] : [])];
}

function newestEngine(environment: Environment): Engine {
  return environment.containerd['2.4'] === undefined ? '2.1' : '2.4';
}
