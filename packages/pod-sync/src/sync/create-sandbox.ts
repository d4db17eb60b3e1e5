import { mkdir } from 'node:fs/promises';
import type { Manifest } from '../manifest/pod.js';
import { toSandboxRecord, type SandboxRecord } from '../status/pod-record.js';
import { sandboxConfig, type TranslationOptions } from '../translate/sandbox-config.js';
import type { CriCalls } from './cri-calls.js';

/** The kubelet's own deadline for RunPodSandbox: twice that of other calls. */
const RUN_TIMEOUT_MS = 240_000;

/** Step 4: makes the log directory, runs the sandbox and asks for its addresses. */
export async function createSandbox(
  manifest: Manifest,
  attempt: number,
  options: TranslationOptions,
  calls: CriCalls,
): Promise<Pick<SandboxRecord, 'id' | 'attempt' | 'ips'>> {
  const { metadata, spec } = manifest.pod;
  const config = sandboxConfig(manifest.pod, attempt, options);
  await mkdir(config.logDirectory, { recursive: true, mode: 0o755 });
  const runtimeHandler = spec.runtimeClassName ?? '';
  const { podSandboxId } = await calls.runtime('runPodSandbox', metadata.name, { config, runtimeHandler }, RUN_TIMEOUT_MS);
  const { status } = await calls.runtime('podSandboxStatus', metadata.name, { podSandboxId });
  return { id: podSandboxId, attempt, ips: status === undefined ? [] : toSandboxRecord(status).ips };
}
