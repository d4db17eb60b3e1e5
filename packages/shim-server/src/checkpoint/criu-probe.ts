import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import type { Introspection } from '@criquet/runtime-containerd';

/** What there is of CRIU on the node. */
export type CriuReport =
  | { readonly usable: true; readonly path: string; readonly version: string }
  | { readonly usable: false; readonly reason: 'CriuUnknown' | 'CriuMissing' | 'CriuCheckFailed'; readonly message: string };

/** Finds out; costs processes. */
export type CriuProbe = () => Promise<CriuReport>;

/** `criu check` forks a few processes of its own. */
const PROBE_MS = 20_000;
/** Lines of what `criu check` complains about. */
const TOLD_LINES = 3;

const run = promisify(execFile);

/**
 * Looks for `criu` where the OCI runtime will: on the PATH that containerd hands down to its shims, or on this process' own where
 * containerd's cannot be read. Then asks it whether the kernel and the privileges are enough.
 */
export async function probeCriu(introspection: Pick<Introspection, 'server'>): Promise<CriuReport> {
  const path = (await containerdPath(introspection)) ?? process.env.PATH ?? '';
  const criu = await findProgram('criu', path);
  if (criu === undefined) {
    return { usable: false, reason: 'CriuMissing', message: `criu is not on containerd's PATH (${path}): install CRIU` };
  }
  try {
    await run(criu, ['check'], { timeout: PROBE_MS });
    const { stdout } = await run(criu, ['--version'], { timeout: PROBE_MS });
    return { usable: true, path: criu, version: /^Version: (.*)$/m.exec(stdout)?.[1] ?? 'unknown' };
  } catch (error) {
    return { usable: false, reason: 'CriuCheckFailed', message: `${criu} check: ${told(error)}` };
  }
}

async function containerdPath(introspection: Pick<Introspection, 'server'>): Promise<string | undefined> {
  try {
    const { pid } = await introspection.server({ timeoutMs: PROBE_MS });
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
    return environment.split('\0').find((entry) => entry.startsWith('PATH='))?.slice('PATH='.length);
  } catch {
    // It runs in another PID namespace, or is not for this user to look at.
    return undefined;
  }
}

async function findProgram(name: string, path: string): Promise<string | undefined> {
  for (const directory of path.split(delimiter)) {
    if (!isAbsolute(directory)) continue;
    const candidate = join(directory, name);
    try {
      await access(candidate, constants.X_OK);
      return candidate;
    } catch {
      continue;
    }
  }
  return undefined;
}

function told(error: unknown): string {
  const { message, stderr = '', stdout = '', killed } = error as Error & { stderr?: string; stdout?: string; killed?: boolean };
  if (killed === true) return `no answer within ${PROBE_MS / 1000} s`;
  const lines = `${stderr}\n${stdout}`.split('\n').filter((line) => line.trim() !== '');
  const errors = lines.filter((line) => line.includes('Error'));
  return (errors.length > 0 ? errors : lines).slice(0, TOLD_LINES).join('; ') || message;
}
