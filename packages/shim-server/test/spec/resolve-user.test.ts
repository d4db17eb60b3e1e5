import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SupplementalGroupsPolicy } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import {
  resolveUser,
  sandboxUser,
  userNeedsRootfs,
  userRequest,
  type UserRequest,
} from '../../src/spec/resolve-user.js';
import { containerConfig, errorOf, sandboxConfig } from './fixtures.js';

const { Merge, Strict } = SupplementalGroupsPolicy;
const PASSWD =
  'root:x:0:0:root:/root:/bin/sh\n# comment\nalice:x:1000:1001:Alice:/home/alice:\nbad:x:4294967296:0::/:\nempty:x:::::\n';
const GROUP = 'root:x:0:\nstaff:x:50:bob, alice\nalice:x:2000:alice\nhuge:x:4294967296:carol\nwheel:x:10:root\n';

const request = (change: Partial<UserRequest>): UserRequest => ({
  imageUser: '',
  runAsUser: undefined,
  runAsUsername: '',
  runAsGroup: undefined,
  supplementalGroups: [],
  policy: Merge,
  ...change,
});
const rootfs = (): string => t.testdir({ etc: { passwd: PASSWD, group: GROUP } });

void t.test('who runs: CRI name, then CRI number, then the image, then root', async (t) => {
  const root = rootfs();
  const user = (change: Partial<UserRequest>) => resolveUser(root, request({ policy: Strict, ...change }));
  t.same(await user({}), { uid: 0, gid: 0, additionalGids: [0] });
  t.same(await user({ imageUser: 'alice' }), { uid: 1000, gid: 1001, additionalGids: [1001] });
  t.same(await user({ imageUser: '1000' }), { uid: 1000, gid: 1001, additionalGids: [1001] }, 'a number has its group');
  t.same(await user({ imageUser: '1234' }), { uid: 1234, gid: 0, additionalGids: [0] }, 'unless it is unknown');
  t.same(await user({ imageUser: '1234:77' }), { uid: 1234, gid: 77, additionalGids: [77] });
  t.same(await user({ imageUser: 'alice:staff' }), { uid: 1000, gid: 50, additionalGids: [50] });
  t.same(await user({ imageUser: ':staff' }), { uid: 0, gid: 50, additionalGids: [50] });
  t.same(await user({ imageUser: 'alice:' }), { uid: 1000, gid: 1001, additionalGids: [1001] });
  t.same(await user({ imageUser: 'alice', runAsUser: 7n }), { uid: 7, gid: 0, additionalGids: [0] });
  t.same(await user({ runAsUsername: 'alice', runAsUser: 7n, runAsGroup: 8n }), {
    uid: 1000,
    gid: 8,
    additionalGids: [8],
  });
  t.same(await user({ runAsUsername: '1000' }), { uid: 1000, gid: 1001, additionalGids: [1001] });
});

void t.test('X5 group named as user: Merge gives what /etc/group says, Strict what CRI says', async (t) => {
  const root = rootfs();
  t.same(await resolveUser(root, request({ imageUser: 'alice', supplementalGroups: [9n, 50n] })), {
    uid: 1000,
    gid: 1001,
    additionalGids: [9, 50, 1001, 2000],
  });
  t.same(
    (await resolveUser(root, request({ runAsUser: 1000n }))).additionalGids,
    [50, 1001, 2000],
    'a number is looked up',
  );
  t.same(
    (await resolveUser(root, request({ imageUser: 'alice', supplementalGroups: [9n], policy: Strict }))).additionalGids,
    [9, 1001],
  );
  t.same((await resolveUser(root, request({}))).additionalGids, [0, 10], "root's groups too");
});

void t.test('X1 user overflow: an error or exactly that id, never root', async (t) => {
  const root = rootfs();
  const code = async (change: Partial<UserRequest>) => (await errorOf(() => resolveUser(root, request(change)))).code;
  for (const imageUser of [
    '2147483648',
    '4294967296:0',
    '4294967296',
    '-1',
    '1000:4294967296',
    '99999999999999999999',
    'bad',
    'empty',
  ]) {
    t.equal(await code({ imageUser }), status.INVALID_ARGUMENT, imageUser);
  }
  for (const id of [2n ** 31n, 2n ** 32n, -1n]) {
    t.equal(await code({ runAsUser: id }), status.INVALID_ARGUMENT, `run_as_user ${id}`);
    t.equal(await code({ runAsUser: 1n, runAsGroup: id }), status.INVALID_ARGUMENT, `run_as_group ${id}`);
    t.equal(await code({ supplementalGroups: [id] }), status.INVALID_ARGUMENT, `supplemental_groups ${id}`);
    t.equal(await code({ runAsUsername: String(id) }), status.INVALID_ARGUMENT, `run_as_username ${id}`);
  }
  t.equal((await resolveUser(root, request({ runAsUser: 2n ** 31n - 1n }))).uid, 2147483647);
  t.match(
    (await errorOf(() => resolveUser(root, request({ imageUser: '0:huge', policy: Strict })))).message,
    /entry "huge": id 4294967296/,
  );
});

void t.test('unknown names and wrong combinations are named', async (t) => {
  const root = rootfs();
  const message = async (change: Partial<UserRequest>) =>
    (await errorOf(() => resolveUser(root, request(change)))).message;
  t.match(await message({ imageUser: 'nobody-here' }), /image config User: user "nobody-here" is not in/);
  t.match(await message({ runAsUsername: 'zoe' }), /run_as_username: user "zoe"/);
  t.match(await message({ imageUser: 'alice:nogroup' }), /group "nogroup" is not in/);
  t.match(await message({ runAsGroup: 5n }), /run_as_group: needs run_as_user/);
  t.match(await message({ imageUser: 'a:b:c' }), /more than one ":"/);
  t.match(await message({ policy: 5 as SupplementalGroupsPolicy }), /supplemental_groups_policy: unknown policy 5/);
});

void t.test('numbers alone are not looked up under Strict', async (t) => {
  const numbers = request({ runAsUser: 5n, runAsGroup: 6n, policy: Strict });
  t.equal(userNeedsRootfs(numbers), false);
  t.same(await resolveUser('/nonexistent', numbers), { uid: 5, gid: 6, additionalGids: [6] });
  t.equal(userNeedsRootfs(request({ runAsUser: 5n, runAsGroup: 6n })), true);
  t.equal(userNeedsRootfs(request({ imageUser: 'alice', policy: Strict })), true);
  t.equal(userNeedsRootfs(request({ runAsUser: 5n, policy: Strict })), true);
});

void t.test('an image without a user database knows numbers only', async (t) => {
  const root = t.testdir({});
  t.same(await resolveUser(root, request({ runAsUser: 5n })), { uid: 5, gid: 0, additionalGids: [0] });
  t.equal((await errorOf(() => resolveUser(root, request({ imageUser: 'root' })))).code, status.INVALID_ARGUMENT);
});

void t.test('links in the root file system never lead out of it', async (t) => {
  const root = t.testdir({ etc: {}, real: { passwd: 'in:x:5:5::/:\n' } });
  const outside = t.testdir === undefined ? '' : join(root, '..', 'outside-passwd');
  writeFileSync(outside, 'in:x:666:666::/:\n');
  t.teardown(() => execFileSync('rm', ['-f', outside]));
  const lookUp = async () => (await resolveUser(root, request({ imageUser: 'in', policy: Strict }))).uid;
  symlinkSync('/real/passwd', join(root, 'etc/passwd'));
  t.equal(await lookUp(), 5, 'an absolute link starts at the root');
  execFileSync('rm', [join(root, 'etc/passwd')]);
  symlinkSync('../../../../../real/passwd', join(root, 'etc/passwd'));
  t.equal(await lookUp(), 5, '".." ends at the root');
  execFileSync('rm', [join(root, 'etc/passwd')]);
  symlinkSync(outside, join(root, 'etc/passwd'));
  t.equal((await errorOf(lookUp)).code, status.INVALID_ARGUMENT, 'a link to a file of the node finds nothing');
  execFileSync('rm', ['-r', join(root, 'etc')]);
  symlinkSync('real', join(root, 'etc'));
  t.equal(await lookUp(), 5, 'a linked directory');
});

void t.test('a user database that is no plain file is refused and does not block', async (t) => {
  const root = t.testdir({ etc: {} });
  const code = async () => {
    const error = await errorOf(() => resolveUser(root, request({ imageUser: 'x' })));
    t.equal(error.code, status.FAILED_PRECONDITION, error.message);
    return error.message;
  };
  execFileSync('mkfifo', [join(root, 'etc/passwd')]);
  t.match(await code(), /\/etc\/passwd is not a regular file/);
  execFileSync('rm', [join(root, 'etc/passwd')]);
  mkdirSync(join(root, 'etc/passwd'));
  t.match(await code(), /not a regular file/);
  execFileSync('rmdir', [join(root, 'etc/passwd')]);
  symlinkSync('passwd', join(root, 'etc/passwd'));
  t.match(await code(), /too many symbolic links/);
  execFileSync('rm', [join(root, 'etc/passwd')]);
  execFileSync('truncate', ['-s', '17M', join(root, 'etc/passwd')]);
  t.match(await code(), /larger than/);
});

void t.test('requests of containers and sandboxes', async (t) => {
  const config = containerConfig({
    linux: {
      securityContext: {
        runAsUser: { value: 1n },
        runAsGroup: { value: 2n },
        supplementalGroups: [3n],
        supplementalGroupsPolicy: Strict,
      },
    },
  });
  t.same(userRequest(config, { User: 'u' }), {
    imageUser: 'u',
    runAsUser: 1n,
    runAsUsername: '',
    runAsGroup: 2n,
    supplementalGroups: [3n],
    policy: Strict,
  });
  t.same(userRequest(containerConfig(), {}), request({}));
  const context = (change: object) => sandboxConfig({ linux: { securityContext: change } }).linux?.securityContext;
  t.same(sandboxUser(undefined), { uid: 0, gid: 0, additionalGids: [0] });
  t.same(
    sandboxUser(context({ runAsUser: { value: 65535n }, runAsGroup: { value: 7n }, supplementalGroups: [9n, 1n] })),
    {
      uid: 65535,
      gid: 7,
      additionalGids: [1, 7, 9],
    },
  );
  t.match((await errorOf(() => sandboxUser(context({ runAsGroup: { value: 7n } })))).message, /needs run_as_user/);
});

void t.test('a user database made to exhaust memory: it is read line by line, and refused above its size', async (t) => {
  const member = (group: string) => resolveUser(t.testdir({ etc: { passwd: 'alice:x:1000:1000::/:\n', group } }), request({ imageUser: 'alice' }));
  const began = performance.now();
  const heap = process.memoryUsage().heapUsed;
  // A million groups, and one with a million members.
  await member('a:b:1:\n'.repeat(500_000));
  t.same((await member(`staff:x:50:${','.repeat(1_000_000)}alice`)).additionalGids, [50, 1000]);
  t.ok(process.memoryUsage().heapUsed - heap < 200 * 2 ** 20, 'nothing is kept of them');
  t.ok(performance.now() - began < 10_000, `${performance.now() - began} ms`);
  await t.rejects(member('#'.repeat(4 * 2 ** 20 + 1)), { code: status.FAILED_PRECONDITION, message: /user database: .*larger than/ });
  await t.rejects(member('g:x:1:alice\n'.repeat(70_000)), { code: status.FAILED_PRECONDITION, message: /more than 65536 groups/ });
});
