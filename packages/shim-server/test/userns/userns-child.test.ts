import { NetnsThread } from '@criquet/network-cni';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'tap';
import { Layout } from '../../src/state/layout.js';
import { elfFile } from '../../src/static-program/elf-file.js';
import { usernsChildCode } from '../../src/userns/userns-child-code.js';
import { layOutUsernsChild } from '../../src/userns/userns-child.js';

async function layOut(dir: string): Promise<string> {
  const program = await layOutUsernsChild(new Layout(dir, dir, dir));
  if (program === undefined) throw new Error(`no program for ${process.arch}`);
  return program;
}

const uid = (id: number): Buffer => Buffer.from(Uint32Array.of(id).buffer);

test('it makes namespaces for the thread that pins them', async (t) => {
  const dir = t.testdir({});
  const netns = new NetnsThread({ usernsChild: await layOut(dir) });
  t.teardown(() => netns.close());
  const [path, userns] = [join(dir, 'pins', 'net'), join(dir, 'pins', 'user')];
  const mapping = [{ containerId: 0, hostId: 70_000, length: 1_000 }];
  const begun = performance.now();
  await netns.create(path, { sysctls: { 'net.ipv4.ip_forward': '1' }, userns: { path: userns, uids: mapping, gids: mapping } });
  t.comment(`${(performance.now() - begun).toFixed(1)} ms`);
  t.equal(await netns.exists(path), true);
  t.equal(await netns.exists(userns), true);
  await Promise.all([netns.release(path), netns.release(userns)]);
  t.same(readdirSync(join(dir, 'pins')), []);
});

test('the creator of the user namespace is the user that it was told, with its privileges', async (t) => {
  const child = spawn(await layOut(t.testdir({})), { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  child.stdin.write(uid(70_123));
  t.equal((await once(child.stdout, 'data') as [Buffer])[0].length, 1);
  const { pid } = child;
  t.not(readlinkSync(`/proc/${pid}/ns/user`), readlinkSync('/proc/self/ns/user'));
  t.equal(readlinkSync(`/proc/${pid}/ns/net`), readlinkSync('/proc/self/ns/net'), 'the network namespace comes later');
  t.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^Uid:\s+0\s+70123\s/m, 'real and effective id');
  t.equal(readFileSync(`/proc/${pid}/uid_map`, 'utf8'), '', 'the maps are the parent’s to write');
  child.stdin.write(Buffer.alloc(1));
  await once(child.stdout, 'data');
  t.not(readlinkSync(`/proc/${pid}/ns/net`), readlinkSync('/proc/self/ns/net'));
  child.stdin.end();
  t.same(await ended, [0, null], 'it ends with its input');
  t.notOk(existsSync(`/proc/${pid}`));
});

for (const [when, write] of [['before it said anything', Buffer.alloc(0)], ['in the middle', uid(1)]] as const) {
  test(`a parent that goes away ${when} takes it along`, async (t) => {
    const child = spawn(await layOut(t.testdir({})), { stdio: ['pipe', 'pipe', 'ignore'] });
    const ended = once(child, 'exit');
    child.stdin.end(write);
    const [code] = (await ended) as [number | null];
    t.type(code, 'number', 'it has ended by itself');
  });
}

test('a program for each supported architecture; none for another', async (t) => {
  for (const [arch, machine] of [['x64', 62], ['arm64', 183]] as const) {
    const program = elfFile(usernsChildCode[arch] ?? { machine: 0, program: [] });
    t.equal(program.readUInt16LE(18), machine);
    t.ok(program.length < 512, `${arch}: ${program.length} bytes`);
  }
  const dir = t.testdir({});
  t.equal(await layOutUsernsChild(new Layout(dir, dir, dir), 'mips'), undefined);
  const path = await layOut(dir);
  t.equal(await layOut(dir), path, 'laid out twice it is the same');
  t.equal((await stat(path)).mode & 0o777, 0o755);
});
