import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { NetnsThread } from '../../src/index.js';
import { mountPoints, pinDirectory } from '../fixtures/pin-directory.js';
import { script } from '../fixtures/script.js';

const UIDS = [{ containerId: 0, hostId: 200_000, length: 65_536 }];
const GIDS = [{ containerId: 0, hostId: 300_000, length: 65_536 }];

/** What the README says of the child, by the tools of util-linux. */
const CHILD = `PATH=/usr/sbin:/usr/bin:/sbin:/bin
uid=$(head -c 4 | od -An -tu4)
exec setpriv --reuid $uid unshare --user sh -c 'printf u; head -c 1 >/dev/null; exec unshare --net sh -c "printf n; head -c 1 >/dev/null"'
`;

/** Runs a command inside of pinned namespaces. */
function inside(userns: string, netns: string, command: string): string {
  const { stdout, stderr } = spawnSync('nsenter', [`--user=${userns}`, `--net=${netns}`, '--setuid=0', '--setgid=0', 'sh', '-c', command], { encoding: 'utf8' });
  return stdout + stderr;
}

t.test('a network namespace inside of a new user namespace: maps, owner, lo up, sysctls; both released', async (t) => {
  const dir = pinDirectory(t);
  const netns = new NetnsThread({ usernsChild: await script(dir, 'child', CHILD) });
  t.teardown(() => netns.close());
  const [path, userns] = [join(dir, 'net', 'pod'), join(dir, 'user', 'pod')];
  const before = { net: readlinkSync('/proc/self/ns/net'), user: readlinkSync('/proc/self/ns/user') };
  await netns.create(path, { sysctls: { 'net.ipv4.ip_unprivileged_port_start': '99' }, userns: { path: userns, uids: UIDS, gids: GIDS } });
  t.equal(await netns.exists(path), true);
  t.equal(await netns.exists(userns), true);
  t.same({ net: readlinkSync('/proc/self/ns/net'), user: readlinkSync('/proc/self/ns/user') }, before, 'the main thread never leaves');

  t.same(inside(userns, path, 'cat /proc/self/uid_map').trim().split(/\s+/), ['0', '200000', '65536']);
  t.same(inside(userns, path, 'cat /proc/self/gid_map').trim().split(/\s+/), ['0', '300000', '65536']);
  t.match(inside(userns, path, 'cat /proc/net/dev; cat /proc/sys/net/ipv4/ip_unprivileged_port_start'), /lo:[^]*\n99\n$/);
  t.match(inside(userns, path, 'cat /proc/net/fib_trie'), /127\.0\.0\.1/, 'lo is up');
  t.equal(inside(userns, path, 'stat -c %u:%g /proc/net/dev').trim(), '0:0', 'the maps were there before the namespace');
  t.equal(inside(userns, path, 'echo 1 > /proc/sys/net/ipv4/ip_forward && cat /proc/sys/net/ipv4/ip_forward').trim(), '1', 'its root owns it');

  await t.rejects(netns.create(path, { userns: { path: join(dir, 'other'), uids: UIDS, gids: GIDS } }), { name: 'NetnsError', step: 'create the pin', code: 'EEXIST', path });
  await netns.release(path);
  await netns.release(userns);
  t.equal(mountPoints().filter((point) => point.startsWith(dir)).length, 0);
});

t.test('what goes wrong names the step and leaves nothing', async (t) => {
  const dir = pinDirectory(t);
  const pins = join(dir, 'pins');
  const [path, userns] = [join(pins, 'net'), join(pins, 'user')];
  const bad: readonly (readonly [what: string, body: string, expected: object])[] = [
    ['no user namespace may be made', 'exit 28', { step: 'make the user namespace', code: 'ENOSPC', message: /unshare: ENOSPC/ }],
    ['the child is killed', 'kill -9 $$', { step: 'make the user namespace', message: /SIGKILL/ }],
    ['it ends too early', 'exit 0', { step: 'make the user namespace', message: /code 0/ }],
    ['no network namespace may be made', `${CHILD.replace(/exec unshare --net.*"/, 'exit 28')}`, { step: 'unshare', code: 'ENOSPC' }],
    ['it never left its user namespace', 'head -c 4 >/dev/null; printf u; head -c 1', { step: 'write the user id map', code: 'EPERM' }],
  ];
  for (const [what, body, expected] of bad) {
    const netns = new NetnsThread({ usernsChild: await script(dir, 'child', body) });
    await t.rejects(netns.create(path, { userns: { path: userns, uids: UIDS, gids: GIDS } }), { name: 'NetnsError', path, ...expected }, what);
    t.same(existsSync(pins) ? readdirSync(pins) : [], [], what);
    await netns.close();
  }
  const mapless = new NetnsThread({ usernsChild: await script(dir, 'child', CHILD) });
  const overlapping = [...UIDS, { containerId: 1, hostId: 5, length: 2 }];
  await t.rejects(mapless.create(path, { userns: { path: userns, uids: overlapping, gids: GIDS } }), { step: 'write the user id map', code: 'EINVAL' });
  await t.rejects(mapless.create(path, { sysctls: { 'net.no.such': '1' }, userns: { path: userns, uids: UIDS, gids: GIDS } }), { name: 'NetnsError', step: 'sysctl net.no.such' });
  t.same(readdirSync(pins), []);
  await mapless.close();
  const without = new NetnsThread();
  await t.rejects(without.create(path, { userns: { path: userns, uids: UIDS, gids: GIDS } }), { step: 'make the user namespace', code: 'ENOSYS' });
  const missing = new NetnsThread({ usernsChild: '/no/such/program' });
  await t.rejects(missing.create(path, { userns: { path: userns, uids: UIDS, gids: GIDS } }), { step: 'make the user namespace', code: 'ENOENT' });
  await without.close();
  await missing.close();
  t.equal(mountPoints().filter((point) => point.startsWith(dir)).length, 0);
});

t.test('no child outlives the call', async (t) => {
  const dir = pinDirectory(t);
  const child = await script(dir, 'child', `echo $$ >> ${join(dir, 'pids')}\n${CHILD}`);
  const netns = new NetnsThread({ usernsChild: child });
  t.teardown(() => netns.close());
  const names = ['a', 'b', 'c', 'd'];
  await Promise.all(names.map((name) => netns.create(join(dir, name), { userns: { path: join(dir, `${name}-user`), uids: UIDS, gids: GIDS } })));
  const pids = readFileSync(join(dir, 'pids'), 'utf8').trim().split('\n');
  t.equal(pids.length, names.length);
  for (const pid of pids) t.notOk(existsSync(`/proc/${pid}`), `${pid} is gone`);
  await Promise.all(names.flatMap((name) => [netns.release(join(dir, name)), netns.release(join(dir, `${name}-user`))]));
});
