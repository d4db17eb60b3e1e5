import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { daemonLockFile, formatIdentity, livingDaemon, newIdentity } from '../../src/runtime/daemon-identity.js';
import { DaemonLock } from '../../src/runtime/daemon-lock.js';
import { instanceOf, newExecId } from '../../src/state/exec-id.js';

await t.test('a daemon is known by its lock file as long as it lives', async (t) => {
  const dir = t.testdir({});
  t.equal(await livingDaemon(dir), undefined, 'there has been none');
  const identity = await newIdentity();
  t.match(identity, { pid: process.pid, startTime: /^\d+$/, instance: /^[0-9a-f]{8}$/ });
  t.not((await newIdentity()).instance, identity.instance);
  const lock = await DaemonLock.take(daemonLockFile(dir), 'taken', formatIdentity(identity));
  t.same(await livingDaemon(dir), identity);
  await t.rejects(DaemonLock.take(daemonLockFile(dir), 'taken', 'of another'), { message: 'taken' });
  t.same(await livingDaemon(dir), identity, 'one that did not get the lock leaves what stands in it');
  await lock.release();
  t.equal(await livingDaemon(dir), undefined, 'it ended in order');
});

await t.test('one that was killed is told from a process that has its number now', async (t) => {
  const dir = t.testdir({});
  const file = daemonLockFile(dir);
  writeFileSync(file, formatIdentity({ pid: process.pid, startTime: '1', instance: '0123abcd' }));
  t.equal(await livingDaemon(dir), undefined, 'another process by now');
  writeFileSync(file, formatIdentity({ pid: 4194304, startTime: '1', instance: '0123abcd' }));
  t.equal(await livingDaemon(dir), undefined, 'no such process');
  for (const text of ['', '12', 'x y z', `${process.pid} 1 0123ab`, ' '.repeat(64)]) {
    writeFileSync(file, text);
    t.equal(await livingDaemon(dir), undefined, JSON.stringify(text));
  }
});

await t.test('the start time is found whatever the command is called', async (t) => {
  const dir = t.testdir({});
  const proc = join(dir, 'proc');
  mkdirSync(join(proc, '77'), { recursive: true });
  const fields = ['S', ...Array.from({ length: 18 }, (_, index) => String(index)), '424242', '0'];
  writeFileSync(join(proc, '77/stat'), `77 (a ) b (c) ) ${fields.join(' ')}\n`);
  writeFileSync(daemonLockFile(dir), formatIdentity({ pid: 77, startTime: '424242', instance: '0123abcd' }));
  t.match(await livingDaemon(dir, proc), { pid: 77 });
});

await t.test('a lock keeps what its file holds until it is taken', async (t) => {
  const dir = t.testdir({});
  const file = join(dir, 'lock');
  appendFileSync(file, 'of a killed daemon'.padEnd(64));
  const lock = await DaemonLock.take(file, 'taken', 'mine');
  t.equal(readFileSync(file, 'utf8'), 'mine'.padEnd(64));
  await lock.release();
  t.equal(readFileSync(file, 'utf8'), ' '.repeat(64), 'no longer and no shorter');
});

t.test('an exec id tells whose it is', async (t) => {
  const id = newExecId('0123abcd');
  t.match(id, /^[0-9a-f]{32}$/);
  t.equal(instanceOf(id), '0123abcd');
  for (const other of ['stdout', 'abc', `${id}0`, id.toUpperCase()]) t.equal(instanceOf(other), undefined, other);
});
