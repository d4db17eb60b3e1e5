import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { makeDirectories } from '../../src/runtime/make-directories.js';

test('what is missing is made, what is there stays', async (t) => {
  const dir = t.testdir();
  await makeDirectories(join(dir, 'a/b/c'), 0o711);
  await makeDirectories(join(dir, 'a/b/c'), 0o700);
  t.equal(statSync(join(dir, 'a/b/c')).mode & 0o777, 0o711);
  writeFileSync(join(dir, 'file'), '');
  await t.rejects(makeDirectories(join(dir, 'file/below'), 0o711), { code: 'ENOTDIR' });
});

test('a full file system is told as such', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'make-directories-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=4', 'tmpfs', dir]);
  t.teardown(() => {
    execFileSync('umount', [dir]);
    rmSync(dir, { recursive: true });
  });
  await makeDirectories(join(dir, '1/2'), 0o711);
  await t.rejects(makeDirectories(join(dir, '1/2/3/4/5'), 0o711), { code: 'ENOSPC' });
});
