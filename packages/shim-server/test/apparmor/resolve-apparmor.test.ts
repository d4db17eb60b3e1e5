import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PodSandboxConfig, SecurityProfile_ProfileType as ProfileType, type DeepPartial } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { AppArmorProfiles } from '../../src/apparmor/apparmor-profiles.js';
import { resolveAppArmor } from '../../src/apparmor/resolve-apparmor.js';
import { containerConfig, errorOf } from '../spec/fixtures.js';

type Context = NonNullable<NonNullable<Parameters<typeof containerConfig>[0]>['linux']>['securityContext'];

const { RuntimeDefault, Unconfined, Localhost } = ProfileType;

/** A node whose parser notes what it is given and loads it, or complains. */
function node(t: Test, options: { loaded?: string; parser?: 'works' | 'fails' | 'absent' | 'silent' | 'pretends'; enabled?: boolean } = {}) {
  const dir = t.testdir({ 'apparmor.d': { abi: { '3.0': '' }, abstractions: { base: '' } } });
  const list = join(dir, 'kernel/security/apparmor/profiles');
  mkdirSync(join(list, '..'), { recursive: true });
  writeFileSync(list, options.loaded ?? 'mine (complain)\n');
  const parser = join(dir, 'apparmor_parser');
  const scripts = {
    works: `echo "$@" >>${dir}/args; cat >>${dir}/input; echo 'criquet-default (enforce)' >>${list}`,
    fails: 'echo "AppArmor parser error for stdin, line 7: no" >&2; exit 1',
    silent: 'exit 3',
    pretends: 'exit 0',
    absent: '',
  };
  const kind = options.parser ?? 'works';
  if (kind !== 'absent') writeFileSync(parser, `#!/bin/sh\n${scripts[kind]}\n`);
  if (kind !== 'absent') chmodSync(parser, 0o755);
  const profiles = new AppArmorProfiles({ enabled: options.enabled ?? true, parser, sys: dir, policyDir: join(dir, 'apparmor.d') });
  const resolve = (context: Context) => resolveAppArmor(containerConfig({ linux: { securityContext: context } }).linux?.securityContext, profiles);
  const text = (file: string) => readFileSync(join(dir, file), 'utf8');
  return { resolve, profiles, text };
}

void t.test('which profile', async (t) => {
  const { resolve } = node(t);
  t.equal(await resolve({}), 'criquet-default', 'a container that names none has the default');
  t.equal(await resolve({ apparmor: { profileType: RuntimeDefault } }), 'criquet-default');
  t.equal(await resolve({ apparmorProfile: 'runtime/default' }), 'criquet-default');
  t.equal(await resolve({ apparmor: { profileType: Unconfined } }), undefined);
  t.equal(await resolve({ apparmorProfile: 'unconfined' }), undefined);
  t.equal(await resolve({ privileged: true }), undefined);
  t.equal(await resolve({ privileged: true, apparmor: { profileType: RuntimeDefault } }), undefined);
  t.equal(await resolve({ privileged: true, apparmor: { profileType: Localhost, localhostRef: 'mine' } }), 'mine');
  t.equal(await resolve({ apparmorProfile: 'localhost/mine' }), 'mine');
  t.equal(await resolve({ apparmor: { profileType: Localhost, localhostRef: 'localhost/mine' } }), 'mine', 'as critest writes it');
  t.equal(await resolve({ apparmorProfile: 'localhost/absent', apparmor: { profileType: Localhost, localhostRef: 'mine' } }), 'mine', 'the new field goes before the old');
});

void t.test('errors', async (t) => {
  const { resolve } = node(t);
  const code = async (context: Context) => (await errorOf(() => resolve(context))).code;
  t.equal(await code({ apparmor: { profileType: Localhost, localhostRef: 'min' } }), status.FAILED_PRECONDITION, 'not loaded');
  t.equal(await code({ apparmorProfile: 'localhost/absent' }), status.FAILED_PRECONDITION);
  t.equal(await code({ apparmor: { profileType: Localhost, localhostRef: '' } }), status.INVALID_ARGUMENT);
  t.equal(await code({ apparmor: { profileType: Unconfined, localhostRef: 'x' } }), status.INVALID_ARGUMENT);
  t.equal(await code({ apparmor: { profileType: 9 as ProfileType } }), status.INVALID_ARGUMENT);
  t.equal(await code({ apparmorProfile: 'mine' }), status.INVALID_ARGUMENT);
});

void t.test('without AppArmor only unconfined works', async (t) => {
  const { resolve } = node(t, { enabled: false });
  t.equal(await resolve({}), undefined);
  t.equal(await resolve({ apparmor: { profileType: Unconfined } }), undefined);
  for (const context of [{ apparmor: { profileType: RuntimeDefault } }, { apparmorProfile: 'localhost/mine' }]) {
    const error = await errorOf(() => resolve(context));
    t.equal(error.code, status.FAILED_PRECONDITION);
    t.match(error.message, /AppArmor is not available/);
  }
});

void t.test('a sandbox has a profile only when it names one', async (t) => {
  const { profiles } = node(t);
  const resolve = (securityContext: DeepPartial<NonNullable<NonNullable<PodSandboxConfig['linux']>['securityContext']>>) =>
    resolveAppArmor(PodSandboxConfig.fromPartial({ linux: { securityContext } }).linux?.securityContext, profiles);
  t.equal(await resolve({}), undefined);
  t.equal(await resolve({ apparmor: { profileType: RuntimeDefault } }), 'criquet-default');
  t.equal(await resolve({ apparmor: { profileType: Localhost, localhostRef: 'mine' } }), 'mine');
});

void t.test('the default profile is loaded once, when it is first needed', async (t) => {
  const { resolve, text } = node(t);
  const wanted = { apparmor: { profileType: RuntimeDefault } };
  t.same(await Promise.all([resolve(wanted), resolve(wanted), resolve({})]), Array(3).fill('criquet-default'));
  await resolve(wanted);
  t.equal(text('args'), '--replace --skip-cache\n');
  const profile = text('input');
  t.match(profile, /^profile criquet-default flags=\(attach_disconnected,mediate_deleted\) \{$/m);
  t.match(profile, /^abi <abi\/3\.0>,$/m);
  t.match(profile, /#include <abstractions\/base>/);
  t.match(profile, /^@\{PROC\}=\/proc\/$/m, "the node has no file of tunables");
});

void t.test('the default profile is there already', async (t) => {
  const { resolve } = node(t, { loaded: 'criquet-default (enforce)\n', parser: 'absent' });
  t.equal(await resolve({}), 'criquet-default');
});

void t.test('the default profile cannot be loaded', async (t) => {
  const cases = [['absent', /there is no apparmor_parser/], ['fails', /parser error for stdin, line 7: no/], ['silent', /ended with 3/], ['pretends', /ended with 0/]] as const;
  for (const [parser, says] of cases) {
    await t.test(parser, async (t) => {
      const { resolve } = node(t, { parser });
      const error = await errorOf(() => resolve({ apparmor: { profileType: RuntimeDefault } }));
      t.equal(error.code, status.FAILED_PRECONDITION);
      t.match(error.message, /criquet-default is not loaded/);
      t.match(error.message, says);
      if (parser === 'absent') t.equal(await resolve({}), undefined, 'what asks for nothing runs');
      else await t.rejects(resolve({}));
    });
  }
});
