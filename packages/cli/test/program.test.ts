import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Writable } from 'node:stream';
import { formatAge, formatDuration, parseDuration } from '../src/duration.js';
import { exitCodeOf } from '../src/exit-code.js';
import { formatValue } from '../src/output/format.js';
import { formatTable } from '../src/output/table.js';
import { createLogger } from '../src/serve/logger.js';
import { write } from '../src/command-context.js';
import { CommandLine, Sink } from './harness.js';

const MAIN = join(import.meta.dirname, '../src/main.js');

function run(args: string[], options: { env?: Record<string, string> } = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env.PATH ?? '', ...options.env } });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const done = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, stdout, stderr })),
  );
  return { child, done, output: () => stdout };
}

await t.test('usage errors exit with 2, help with 0', async (t) => {
  const line = new CommandLine(t.testdir({}));
  t.match(await line.run('--help'), { code: 0, stdout: /Exit codes: 0 done/ });
  t.match(await line.run('bogus'), { code: 2, stderr: /unknown command 'bogus'/ });
  t.match(await line.run('pod', 'run'), { code: 2, stderr: /missing required argument 'FILE'/ });
  t.match(await line.run('pod', 'ps', '--frobnicate'), { code: 2, stderr: /unknown option '--frobnicate'/ });
  t.match(await line.run('pod', 'ps', '-o', 'xml'), { code: 2, stderr: /Allowed choices are table, json, yaml/ });
  t.match(await line.run('pod', 'ps', '--timeout', 'soon'), { code: 2, stderr: /Expected a duration such as 30s/ });
  t.match(await line.run('pod'), { code: 2 });
});

await t.test('version', async (t) => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as { version: string };
  const line = new CommandLine(t.testdir({}));
  t.same(await line.run('--version'), { code: 0, stdout: `criquet ${version}\n`, stderr: '' });
  t.same(await line.run('-V'), { code: 0, stdout: `criquet ${version}\n`, stderr: '' });
  t.equal((await line.run('version')).stdout, `criquet ${version} (Node.js ${process.version})\n`);
  t.match((await line.run('version', '-r', '/x.sock')).stdout, /runtime fake 1, CRI v1\n$/);
  t.same(JSON.parse((await line.run('version', '-o', 'json')).stdout), { criquet: version, node: process.version });
});

await t.test('config', async (t) => {
  const dir = t.testdir({ 'c.toml': '[containerd]\nadress = "/x"', 'good.toml': 'log_level = "warn"' });
  const line = new CommandLine(dir);
  t.match((await line.run('config', 'default')).stdout, /^#listen = "unix:\/\/\/run\/criquet\/criquet\.sock"$/m);
  const dump = await line.run('config', 'dump', '--config', join(dir, 'good.toml'), '--cni-bin-dir', '/a', '--cni-bin-dir', '/b', '--containerd', '/c.sock');
  t.equal(dump.code, 0);
  t.match(dump.stdout, new RegExp(`^# from ${dir}/good.toml$`, 'm'));
  t.match(dump.stdout, /^bin_dirs = \["\/a", "\/b"\]$/m);
  t.match(dump.stdout, /^address = "unix:\/\/\/c\.sock"$/m);
  t.match(dump.stdout, /^log_level = "warn"$/m);
  t.match(dump.stdout, /^connect_timeout = "10s"$/m);
  t.match(dump.stdout, /^call_timeout = "2m"$/m);
  t.same(await line.run('config', 'check', '--config', join(dir, 'good.toml')), { code: 0, stdout: `${dir}/good.toml: ok\n`, stderr: '' });
  t.match(await line.run('config', 'check', '--config', join(dir, 'c.toml')), {
    code: 2,
    stderr: `criquet: ${dir}/c.toml: containerd.adress: unknown key, did you mean address?; allowed here: address, namespace, snapshotter, connect_timeout, call_timeout\n`,
  });
  t.match(await line.run('serve', '--config', join(dir, 'none.toml')), { code: 2, stderr: /none\.toml: there is no such file/ });
  t.match(await line.run('serve', '--config', join(dir, 'good.toml'), '--log-level', 'loud'), { code: 2, stderr: /--log-level: log_level: expected one of/ });
});

await t.test('config check refuses what serve refuses at its start', async (t) => {
  const handler = (lines: string) => `[runtime.handlers.other]\n${lines}\n`;
  const dir = t.testdir({ 'no.json': '{', 'list.json': '[]', 'spec.json': '{"ociVersion": "1.2.0"}' });
  const cases: [toml: string, says: RegExp | undefined][] = [
    [handler('base_runtime_spec = "/nonexistent"'), /c\.toml: runtime\.handlers\.other\.base_runtime_spec: \/nonexistent: .*ENOENT/],
    [handler(`base_runtime_spec = "${dir}/no.json"`), /c\.toml: runtime\.handlers\.other\.base_runtime_spec: .*no\.json: /],
    [handler(`base_runtime_spec = "${dir}/list.json"`), /c\.toml: runtime\.handlers\.other\.base_runtime_spec: .*list\.json: /],
    [handler('privileged_without_host_devices_all_devices_allowed = true'), /c\.toml: runtime\.handlers\.other\.privileged_\w+: needs privileged_without_host_devices\n/],
    ['[streaming]\nenable_tls = true', /c\.toml: streaming\.enable_tls needs streaming\.cert_file and streaming\.key_file\n/],
    [`[streaming]\nenable_tls = true\ncert_file = "${dir}/a"\nkey_file = "${dir}/b"`, /c\.toml: streaming\.cert_file .*ENOENT/],
    [handler(`base_runtime_spec = "${dir}/spec.json"`), undefined],
  ];
  const file = join(dir, 'c.toml');
  const line = new CommandLine(dir);
  for (const [toml, says] of cases) {
    writeFileSync(file, toml);
    const expected = says === undefined ? { code: 0, stdout: `${file}: ok\n` } : { code: 2, stderr: says };
    t.match(await line.run('config', 'check', '--config', file), expected, toml);
  }
  writeFileSync(file, handler('base_runtime_spec = "/a"') + '[runtime.handlers.more]\nbase_runtime_spec = "/b"\n');
  t.match(await line.run('config', 'check', '--config', file), { code: 2, stderr: /other\.base_runtime_spec.*\n.*more\.base_runtime_spec/ }, 'all problems at once');
});

await t.test('serve: starts with the configuration, stops on the signal', async (t) => {
  const dir = t.testdir({ 'c.toml': '' });
  const seen: unknown[] = [];
  const line = new CommandLine(dir, {
    startServer: async ({ config }) => {
      seen.push(config.listen);
      setTimeout(() => line.interruption.abort(), 20);
      return { stop: async () => void seen.push('stopped') };
    },
  });
  const { code, stdout } = await line.run('serve', '--config', join(dir, 'c.toml'), '--listen', '/l.sock');
  t.equal(code, 0);
  t.same(seen, ['unix:///l.sock', 'stopped']);
  const messages = stdout.trim().split('\n').map((text) => JSON.parse(text) as { level: string; msg: string; time: string });
  t.same(messages.map(({ level, msg }) => [level, msg]), [
    ['info', 'criquet starts'],
    ['info', 'criquet stops; containers go on'],
    ['info', 'criquet has stopped'],
  ]);
  t.match(messages[0]?.time, /^\d{4}-\d\d-\d\dT.*Z$/);
});

await t.test('serve: the modes of files do not depend on the umask of who starts it', async (t) => {
  const umask = process.umask(0);
  t.teardown(() => process.umask(umask));
  const dir = t.testdir({ 'c.toml': '' });
  const seen: number[] = [];
  const line = new CommandLine(dir, {
    startServer: async () => {
      seen.push(process.umask());
      return { stop: async () => undefined };
    },
  });
  line.interruption.abort();
  t.equal((await line.run('serve', '--config', join(dir, 'c.toml'))).code, 0);
  t.same(seen, [0o022]);
});

await t.test('serve: what cannot start says why and exits with 1', async (t) => {
  const dir = t.testdir({ 'c.toml': '' });
  const line = new CommandLine(dir, { startServer: () => Promise.reject(new Error('containerd 1.7.24: too old')) });
  t.match(await line.run('serve', '--config', join(dir, 'c.toml')), { code: 1, stderr: 'criquet: containerd 1.7.24: too old\n' });
});

await t.test('serve: a stop that takes too long is not waited for', async (t) => {
  const dir = t.testdir({ 'c.toml': '' });
  const line = new CommandLine(dir, { startServer: async () => ({ stop: () => new Promise<void>(() => undefined) }) });
  line.interruption.abort();
  const begin = Date.now();
  const { code, stdout } = await line.run('serve', '--config', join(dir, 'c.toml'));
  t.equal(code, 0);
  t.ok(Date.now() - begin < 6000);
  t.match(stdout, /not everything was finished in time/);
});

await t.test('the log is readable on a terminal', async (t) => {
  const stream = Object.assign(new Sink(), { isTTY: true });
  const logger = await createLogger('info', stream);
  logger.info({ podSandboxId: 'abc' }, 'hello');
  logger.debug('hidden');
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.match(stream.text, /hello/);
  t.match(stream.text, /podSandboxId/);
  t.notMatch(stream.text, /hidden|^\{/);
});

await t.test('as a process', async (t) => {
  t.match(await run(['version']).done, { code: 0, stdout: /^criquet / });
  t.match(await run(['pod', 'ps'], { env: { CONTAINER_RUNTIME_ENDPOINT: '/nonexistent.sock' } }).done, { code: 1, stderr: /^criquet: \w+: cannot reach the runtime at \/nonexistent\.sock: ENOENT; see --runtime-endpoint/ });
  const dir = t.testdir({});
  const file = join(dir, 'c.toml');
  writeFileSync(file, `listen = "${dir}/c.sock"\nstate_dir = "${dir}/s"\nroot_dir = "${dir}/r"\n[containerd]\naddress = "/nonexistent.sock"\nconnect_timeout = "200ms"`);
  const noContainerd = await run(['serve', '--config', file]).done;
  t.equal(noContainerd.code, 1);
  t.match(noContainerd.stderr, /cannot reach containerd at \/nonexistent\.sock: ENOENT/);
  t.notMatch(noContainerd.stderr, /Resolution note/);
});

await t.test('a reader that has enough is no error', async (t) => {
  const { child, done } = run(['config', 'default']);
  child.stdout.destroy();
  t.equal((await done).code, 0);
});

await t.test('durations', async (t) => {
  t.equal(parseDuration('90'), 90_000);
  t.equal(parseDuration('1h1m1.5s'), 3_661_500);
  t.equal(parseDuration('250ms'), 250);
  t.equal(parseDuration('0'), 0);
  t.throws(() => parseDuration('5x'));
  t.same([0.04, 9.94, 10, 999, 1000, 61_234].map(formatDuration), ['0.0 ms', '9.9 ms', '10 ms', '999 ms', '1.0 s', '61.2 s']);
  const now = new Date('2024-01-10T00:00:00Z');
  const age = (seconds: number) => formatAge(new Date(now.getTime() - seconds * 1000), now);
  t.same([-5, 0, 119, 120, 7199, 7200, 172_799, 172_800].map(age), ['0s', '0s', '119s', '2m', '119m', '2h', '47h', '2d']);
});

await t.test('output', async (t) => {
  t.equal(formatTable(['A', 'LONG'], [['aaa', 'b'], ['c', '']]), 'A     LONG\naaa   b\nc\n');
  const value = { big: 2n ** 63n, small: 5n, bytes: Buffer.from('hi'), date: new Date(0), _unknownFields: {} };
  t.same(JSON.parse(formatValue(value, 'json')), { big: '9223372036854775808', small: 5, bytes: 'aGk=', date: '1970-01-01T00:00:00.000Z' });
  t.equal(formatValue([1], 'yaml'), '- 1\n');
  t.equal(formatValue(undefined, 'json'), 'null\n');
});

await t.test('exit codes of foreign errors', async (t) => {
  t.equal(exitCodeOf(new Error('x')), 1);
  t.equal(exitCodeOf('x'), 1);
  t.equal(exitCodeOf(new DOMException('', 'TimeoutError')), 4);
  t.equal(exitCodeOf(new DOMException('', 'AbortError')), 130);
});

await t.test('a slow reader is waited for, one that went away is not', async (t) => {
  let release: (() => void) | undefined;
  const slow = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void (release = done) });
  let written = false;
  const writing = write(slow, 'much').then(() => (written = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(written, false);
  release?.();
  await writing;
  const gone = new Writable({ highWaterMark: 1, write: () => undefined });
  const stuck = write(gone, 'much');
  gone.destroy();
  await stuck;
});
