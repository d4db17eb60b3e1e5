import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type Test } from 'tap';
import { criuErrors } from '../../src/checkpoint/criu-log.js';
import { probeCriu } from '../../src/checkpoint/criu-probe.js';

/** A process with that PATH, in the place of containerd. */
function containerd(t: Test, path: string) {
  const child = spawn('/bin/sleep', ['30'], { env: { PATH: path }, stdio: 'ignore' });
  t.teardown(() => child.kill());
  const server = () => Promise.resolve({ uuid: '', pid: child.pid ?? 0, pidNamespace: 0n, deprecations: [] });
  return { server };
}

async function program(directory: string, script: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const path = join(directory, 'criu');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

test("R7 checkpoint: CRIU is looked for on containerd's PATH, not on the daemon's", async (t) => {
  const dir = t.testdir({ empty: {} });
  const path = await program(join(dir, 'bin'), '[ "$1" = check ] || echo "Version: 4.2.1"');
  t.same(await probeCriu(containerd(t, `${join(dir, 'empty')}:relative:${join(dir, 'bin')}`)), { usable: true, path, version: '4.2.1' });
  t.match(await probeCriu(containerd(t, join(dir, 'empty'))), { usable: false, reason: 'CriuMissing', message: /criu is not on containerd's PATH \(.*empty\)/ });
});

test('R7 checkpoint: what criu check complains about is told', async (t) => {
  const dir = t.testdir();
  await program(dir, 'echo "Warn  (x.c:1): no matter" >&2; echo "Error (criu/vdso.c:381): vdso: Unexpected rt vDSO area bounds" >&2; exit 1');
  const report = await probeCriu(containerd(t, dir));
  t.match(report, { usable: false, reason: 'CriuCheckFailed', message: /criu check: Error \(criu\/vdso\.c:381\): vdso: Unexpected rt vDSO area bounds$/ });
});

test('errors in a log of CRIU, in one line', async (t) => {
  const log = [
    "(00.080719) Error (criu/util.c:1534): rlimit: Can't setup RLIMIT_NOFILE for self: Operation not permitted",
    '(00.192998) Error (criu/files-reg.c:1790): Can\'t lookup mount=27 for fd=1 path=/out',
    '(00.193) Warn  (criu/x.c:1): nothing',
    '(00.252538) Error (criu/cr-dump.c:1975): Dumping FAILED.',
  ].join('\n');
  t.equal(criuErrors(log), "Error (criu/files-reg.c:1790): Can't lookup mount=27 for fd=1 path=/out; Error (criu/cr-dump.c:1975): Dumping FAILED.");
  t.equal(criuErrors('all well'), '');
});
