import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { prepareLogDirectory, resolveLogPath } from '../../src/logging/log-path.js';

void t.test('where a log goes', (t) => {
  t.equal(resolveLogPath('/var/log/pods/x', 'c/0.log'), '/var/log/pods/x/c/0.log');
  t.equal(resolveLogPath('/var/log/pods/x/', './c//0.log'), '/var/log/pods/x/c/0.log');
  t.equal(resolveLogPath('', 'c/0.log'), '');
  t.equal(resolveLogPath('/var/log', ''), '');
  t.equal(resolveLogPath('/var/log', '..c/0..log'), '/var/log/..c/0..log', 'dots in names are no way up');
  t.end();
});

void t.test('a log path that climbs out is refused by its text', (t) => {
  for (const path of ['../x', 'a/../../x', 'a/..', '/etc/passwd', '.', 'dir/', './', 'a\0b']) {
    t.throws(
      () => resolveLogPath('/var/log/pods/x', path),
      { code: status.INVALID_ARGUMENT, message: /^config\.log_path/ },
      path,
    );
  }
  t.throws(() => resolveLogPath('var/log', 'x'), { code: status.INVALID_ARGUMENT, message: /log_directory/ });
  t.end();
});

void t.test('G3 missing directory: made down to the file', async (t) => {
  const dir = join(t.testdir(), 'pods/x');
  await prepareLogDirectory(dir, join(dir, 'c/d/0.log'));
  t.ok(existsSync(join(dir, 'c/d')));
});

void t.test('links inside the directory must not lead out', async (t) => {
  const root = t.testdir({ logs: { inner: {} }, outside: { 'victim.log': '' } });
  const logs = join(root, 'logs');
  symlinkSync('../outside', join(logs, 'out'));
  symlinkSync('inner', join(logs, 'in'));
  symlinkSync('../outside/victim.log', join(logs, 'link.log'));
  symlinkSync('nowhere', join(logs, 'dangling.log'));
  symlinkSync(logs, join(root, 'alias'));
  const prepare = (path: string, directory = logs) => prepareLogDirectory(directory, join(directory, path));
  const refused = { code: status.INVALID_ARGUMENT };
  await t.rejects(prepare('out/0.log'), refused);
  await t.rejects(prepare('out/new/0.log'), refused);
  t.notOk(existsSync(join(root, 'outside/new')), 'and nothing is made out there');
  await t.rejects(prepare('link.log'), refused);
  await t.rejects(prepare('dangling.log'), refused);
  await t.resolves(prepare('in/0.log'));
  await t.resolves(prepare('c/0.log', join(root, 'alias')), 'the directory itself may be a link');
  t.ok(existsSync(join(logs, 'c')));
  mkdirSync(join(root, 'logs-2'));
  symlinkSync('../logs-2', join(logs, 'sibling'));
  await t.rejects(prepare('sibling/0.log'), refused, 'a name that only begins alike');
});

void t.test('a file in the way', async (t) => {
  const dir = t.testdir();
  writeFileSync(join(dir, 'f'), '');
  await t.rejects(prepareLogDirectory(dir, join(dir, 'f/0.log')), { code: status.FAILED_PRECONDITION });
  await t.rejects(prepareLogDirectory(join(dir, 'f'), join(dir, 'f/0.log')), { code: status.FAILED_PRECONDITION });
});
