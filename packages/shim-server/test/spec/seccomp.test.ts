import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { SecurityProfile_ProfileType as ProfileType } from '@criquet/cri-api';
import type { LinuxSeccomp } from '@criquet/runtime-containerd';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { resolveSeccomp } from '../../src/spec/seccomp.js';
import { defaultSeccompProfile } from '../../src/spec/seccomp-default-profile.js';
import { CAPABILITY_NAMES } from '../../src/spec/capability-names.js';
import { containerConfig, errorOf, node, sandboxConfig } from './fixtures.js';

type Context = NonNullable<NonNullable<Parameters<typeof containerConfig>[0]>['linux']>['securityContext'];

const resolve = (context: Context, facts = node()) =>
  resolveSeccomp({
    securityContext: containerConfig({ linux: { securityContext: context } }).linux?.securityContext,
    node: facts,
  });

/** What a profile answers to a call, arguments left out of account. */
function allows(profile: LinuxSeccomp, name: string): boolean {
  return profile.syscalls?.some(({ names, action }) => action === 'SCMP_ACT_ALLOW' && names.includes(name)) === true;
}

void t.test('which profile', async (t) => {
  t.equal(await resolve({}), undefined, 'none named');
  t.equal(await resolveSeccomp({ securityContext: undefined, node: node() }), undefined);
  t.equal(await resolve({ seccomp: { profileType: ProfileType.Unconfined } }), undefined);
  t.equal((await resolve({ seccomp: { profileType: ProfileType.RuntimeDefault } }))?.defaultAction, 'SCMP_ACT_ERRNO');
  t.equal((await resolve({ seccompProfilePath: 'runtime/default' }))?.defaultAction, 'SCMP_ACT_ERRNO');
  t.equal((await resolve({ seccompProfilePath: 'docker/default' }))?.defaultAction, 'SCMP_ACT_ERRNO');
  t.equal(await resolve({ seccompProfilePath: 'unconfined' }), undefined);
  t.equal(
    await resolve({ seccomp: { profileType: ProfileType.Unconfined }, seccompProfilePath: 'runtime/default' }),
    undefined,
    'the message goes before the deprecated string',
  );
  t.match(
    (await errorOf(() => resolve({ seccompProfilePath: 'whatever' }))).message,
    /seccomp_profile_path: "whatever"/,
  );
  t.match((await errorOf(() => resolve({ seccomp: { profileType: 9 as ProfileType } }))).message, /unknown type 9/);
  t.match(
    (await errorOf(() => resolve({ seccomp: { profileType: ProfileType.RuntimeDefault, localhostRef: '/x' } })))
      .message,
    /localhost_ref/,
  );
});

void t.test('X3 privileged and seccomp: always unconfined', async (t) => {
  for (const profileType of [ProfileType.RuntimeDefault, ProfileType.Unconfined, ProfileType.Localhost]) {
    t.equal(await resolve({ privileged: true, seccomp: { profileType } }), undefined);
  }
  t.equal(await resolve({ privileged: true }), undefined);
});

void t.test('a kernel without seccomp: an error unless unconfined', async (t) => {
  const without = node({ seccompEnabled: false });
  const error = await errorOf(() => resolve({ seccomp: { profileType: ProfileType.RuntimeDefault } }, without));
  t.equal(error.code, status.FAILED_PRECONDITION);
  t.equal(await resolve({ seccomp: { profileType: ProfileType.Unconfined } }, without), undefined);
});

void t.test('X2 seccomp file missing: creation fails, closed', async (t) => {
  const dir = t.testdir({
    'good.json': JSON.stringify({
      defaultAction: 'SCMP_ACT_ALLOW',
      defaultErrnoRet: 38,
      architectures: ['SCMP_ARCH_X86_64'],
      flags: ['SECCOMP_FILTER_FLAG_LOG'],
      listenerPath: '/l',
      listenerMetadata: 'm',
      archMap: [{ architecture: 'docker only' }],
      syscalls: [
        { names: ['chmod'], action: 'SCMP_ACT_ERRNO', errnoRet: 1, comment: 'docker only' },
        {
          names: ['clone'],
          action: 'SCMP_ACT_ALLOW',
          args: [{ index: 0, value: 1, valueTwo: 2, op: 'SCMP_CMP_MASKED_EQ' }],
        },
      ],
    }),
    'bad.json': '{ "defaultAction": ',
    dir: {},
  });
  const load = (localhostRef: string) => resolve({ seccomp: { profileType: ProfileType.Localhost, localhostRef } });
  const good = {
    defaultAction: 'SCMP_ACT_ALLOW',
    defaultErrnoRet: 38,
    architectures: ['SCMP_ARCH_X86_64'],
    flags: ['SECCOMP_FILTER_FLAG_LOG'],
    listenerPath: '/l',
    listenerMetadata: 'm',
    syscalls: [
      { names: ['chmod'], action: 'SCMP_ACT_ERRNO', errnoRet: 1 },
      {
        names: ['clone'],
        action: 'SCMP_ACT_ALLOW',
        args: [{ index: 0, value: 1, op: 'SCMP_CMP_MASKED_EQ', valueTwo: 2 }],
      },
    ],
  };
  t.same(await load(join(dir, 'good.json')), good);
  t.same(await load(`localhost/${join(dir, 'good.json')}`), good);
  t.same(await resolve({ seccompProfilePath: `localhost/${join(dir, 'good.json')}` }), good);
  execFileSync('mkfifo', [join(dir, 'fifo')]);
  execFileSync('truncate', ['-s', '2M', join(dir, 'big.json')]);
  const cases: [string, number, RegExp][] = [
    [join(dir, 'missing.json'), status.FAILED_PRECONDITION, /localhost_ref: .*missing\.json" does not exist/],
    ['good.json', status.INVALID_ARGUMENT, /"good\.json" is not an absolute path/],
    ['', status.INVALID_ARGUMENT, /not an absolute path/],
    [join(dir, 'bad.json'), status.FAILED_PRECONDITION, /not valid JSON/],
    [join(dir, 'dir'), status.FAILED_PRECONDITION, /not a regular file/],
    [join(dir, 'fifo'), status.FAILED_PRECONDITION, /not a regular file/],
    [join(dir, 'big.json'), status.FAILED_PRECONDITION, /larger than/],
    [join(dir, 'good.json', 'x'), status.FAILED_PRECONDITION, /ENOTDIR/],
  ];
  for (const [path, code, message] of cases) {
    const error = await errorOf(() => load(path));
    t.equal(error.code, code, error.message);
    t.match(error.message, message);
  }
});

void t.test('X2 a file that is JSON but no profile says where', async (t) => {
  const rule = (change: object): object => ({ syscalls: [{ names: ['a'], action: 'SCMP_ACT_ALLOW', ...change }] });
  const arg = (change: object): object => rule({ args: [{ index: 0, value: 0, op: 'SCMP_CMP_EQ', ...change }] });
  const cases: [unknown, string][] = [
    [[], 'not an object'],
    [{}, 'defaultAction'],
    [{ defaultAction: 'allow' }, 'defaultAction'],
    [{ defaultErrnoRet: -1 }, 'defaultErrnoRet'],
    [{ architectures: 'x' }, 'architectures'],
    [{ flags: [1] }, 'flags'],
    [{ listenerPath: 1 }, 'listenerPath'],
    [{ syscalls: {} }, 'syscalls'],
    [{ syscalls: [null] }, 'syscalls[0]'],
    [rule({ names: [] }), 'syscalls[0].names'],
    [rule({ action: 'x' }), 'syscalls[0].action'],
    [rule({ errnoRet: 'x' }), 'syscalls[0].errnoRet'],
    [rule({ args: 1 }), 'syscalls[0].args'],
    [arg({ op: 'EQ' }), 'syscalls[0].args[0].op'],
    [arg({ index: null }), 'syscalls[0].args[0].index'],
    [arg({ value: 2 ** 60 }), 'syscalls[0].args[0].value'],
    [arg({ valueTwo: 'x' }), 'syscalls[0].args[0].valueTwo'],
  ];
  const dir = t.testdir(
    Object.fromEntries(
      cases.map(([content], index) => [
        `${index}.json`,
        JSON.stringify(
          Array.isArray(content) || Object.keys(content as object).length === 0
            ? content
            : { defaultAction: 'SCMP_ACT_ALLOW', ...(content as object) },
        ),
      ]),
    ),
  );
  for (const [index, [, where]] of cases.entries()) {
    const ref = join(dir, `${index}.json`);
    const error = await errorOf(() => resolve({ seccomp: { profileType: ProfileType.Localhost, localhostRef: ref } }));
    t.ok(error.message.endsWith(`is not a seccomp profile: ${where}`), `${where}: ${error.message}`);
  }
});

void t.test('the default profile allows more to more capabilities', (t) => {
  const none = defaultSeccompProfile({ capabilities: [], arch: 'x64' });
  const all = defaultSeccompProfile({ capabilities: CAPABILITY_NAMES, arch: 'x64' });
  const needs: [string, string][] = [
    ['mount', 'CAP_SYS_ADMIN'],
    ['setns', 'CAP_SYS_ADMIN'],
    ['chroot', 'CAP_SYS_CHROOT'],
    ['reboot', 'CAP_SYS_BOOT'],
    ['init_module', 'CAP_SYS_MODULE'],
    ['open_by_handle_at', 'CAP_DAC_READ_SEARCH'],
    ['settimeofday', 'CAP_SYS_TIME'],
    ['set_mempolicy', 'CAP_SYS_NICE'],
    ['syslog', 'CAP_SYSLOG'],
    ['bpf', 'CAP_BPF'],
    ['perf_event_open', 'CAP_PERFMON'],
    ['acct', 'CAP_SYS_PACCT'],
    ['kcmp', 'CAP_SYS_PTRACE'],
    ['iopl', 'CAP_SYS_RAWIO'],
    ['vhangup', 'CAP_SYS_TTY_CONFIG'],
  ];
  for (const [name, capability] of needs) {
    t.notOk(allows(none, name), `${name} without`);
    t.ok(
      allows(defaultSeccompProfile({ capabilities: [capability], arch: 'x64' }), name),
      `${name} with ${capability}`,
    );
  }
  for (const name of ['read', 'openat2', 'clone', 'futex_waitv', 'ptrace', 'socket', 'arch_prctl'])
    t.ok(allows(none, name), name);
  for (const name of ['keyctl', 'add_key', 'kexec_load', 'swapon', 'io_uring_setup', 'userfaultfd', 'pivot_root']) {
    t.notOk(allows(none, name), name);
    t.notOk(allows(all, name), `${name} with every capability`);
  }
  t.end();
});

void t.test('namespaces cannot be made by clone, and clone3 falls back', (t) => {
  const profile = defaultSeccompProfile({ capabilities: [], arch: 'x64' });
  // NEWNS|NEWCGROUP|NEWUTS|NEWIPC|NEWUSER|NEWPID|NEWNET of linux/sched.h.
  const flags = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000].reduce(
    (a, b) => a + b,
  );
  t.match(
    profile.syscalls?.find(({ names }) => names.includes('clone')),
    {
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 0, value: flags, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
    },
  );
  t.match(
    profile.syscalls?.find(({ names }) => names.includes('clone3')),
    { action: 'SCMP_ACT_ERRNO', errnoRet: 38 },
  );
  const s390 = defaultSeccompProfile({ capabilities: [], arch: 's390x' });
  t.equal(s390.syscalls?.find(({ names }) => names.includes('clone'))?.args?.[0]?.index, 1);
  t.end();
});

void t.test('sockets: every family but ALG and VSOCK', (t) => {
  const rules =
    defaultSeccompProfile({ capabilities: [], arch: 'x64' }).syscalls?.filter(({ names }) => names[0] === 'socket') ??
    [];
  const passes = (family: number): boolean =>
    rules.some(({ args }) =>
      args?.every(({ value, op }) =>
        op === 'SCMP_CMP_LT' ? family < value : op === 'SCMP_CMP_GT' ? family > value : family === value,
      ),
    );
  for (let family = 0; family <= 45; family += 1)
    t.equal(passes(family), family !== 38 && family !== 40, `AF ${family}`);
  t.end();
});

void t.test('architectures', (t) => {
  t.same(defaultSeccompProfile({ capabilities: [], arch: 'arm64' }).architectures, [
    'SCMP_ARCH_AARCH64',
    'SCMP_ARCH_ARM',
  ]);
  t.equal(defaultSeccompProfile({ capabilities: [], arch: 'mips' }).architectures, undefined);
  t.end();
});

void t.test('a container gets the profile of its capabilities, a sandbox of none', async (t) => {
  const profile = { profileType: ProfileType.RuntimeDefault };
  const admin = await resolve({ seccomp: profile, capabilities: { addCapabilities: ['SYS_ADMIN'] } });
  t.ok(admin && allows(admin, 'mount'));
  const config = sandboxConfig({ linux: { securityContext: { seccomp: profile } } });
  const sandbox = await resolveSeccomp({ securityContext: config.linux?.securityContext, node: node() });
  t.ok(sandbox && !allows(sandbox, 'chroot'), 'CAP_SYS_CHROOT is a default of containers only');
});
