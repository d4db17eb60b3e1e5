import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';

const CHECKOUT = join(import.meta.dirname, '../../../..');
const BUNDLE = join(import.meta.dirname, '../bundle');
const UNBUNDLED = join(import.meta.dirname, '../src/main.js');

/** The bundle where no package can be found from it. */
function elsewhere(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'criquet-bundle-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  cpSync(BUNDLE, join(directory, 'lib'), { recursive: true });
  return join(directory, 'lib');
}

/** Runs a command in the root directory. */
function run(main: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { cwd: '/', encoding: 'utf8', env: { PATH: process.env.PATH ?? '' } });
  return { code: status, stdout, stderr };
}

/** Starts a daemon without a containerd: it takes its lock by a system call, and logs why it cannot start. */
function failingStart(t: Test, main: string): { stack: string; stderr: string } {
  const dir = mkdtempSync(join(tmpdir(), 'criquet-start-'));
  t.teardown(() => rmSync(dir, { recursive: true }));
  writeFileSync(
    join(dir, 'c.toml'),
    `listen = "${dir}/c.sock"\nstate_dir = "${dir}/s"\nroot_dir = "${dir}/r"\n[containerd]\naddress = "/nonexistent.sock"\nconnect_timeout = "100ms"`,
  );
  const { stdout, stderr } = run(main, 'serve', '--config', join(dir, 'c.toml'));
  t.ok(existsSync(join(dir, 's')), 'it came to its state directory');
  const lines = stdout.trim().split('\n').map((line) => JSON.parse(line) as { level: string; err?: { stack: string } });
  return { stack: lines.find(({ level }) => level === 'fatal')?.err?.stack ?? '', stderr };
}

await t.test('the bundle answers as the modules do, wherever it lies', async (t) => {
  const lib = elsewhere(t);
  for (const words of [['--version'], ['--help'], ['config', 'default'], ['pod', 'ps', '-r', '/nonexistent.sock']]) {
    const expected = run(UNBUNDLED, ...words);
    for (const main of ['criquet.js', 'start.js']) t.same(run(join(lib, main), ...words), expected, `${main} ${words.join(' ')}`);
  }
});

await t.test('code that was compiled before is used, with the flags of scripts/criquet, and only for the bundle that it was made of', async (t) => {
  const lib = elsewhere(t);
  const cache = readFileSync(join(lib, 'code-cache'));
  const flags = /^exec "\$node" (.*) "\$main"/m.exec(readFileSync(join(CHECKOUT, 'scripts/criquet'), 'utf8'))?.[1]?.split(' ') ?? [];
  t.ok(flags.length > 0);
  const accepted = `
    const { createHash } = require('node:crypto'), { readFileSync } = require('node:fs'), { wrap } = require('node:module'), { Script } = require('node:vm');
    const source = readFileSync('criquet.js'), cache = readFileSync('code-cache');
    const script = new Script(wrap(source.toString().replace(/^#!/, '//')), { cachedData: cache.subarray(32) });
    console.log(script.cachedDataRejected, createHash('sha256').update(source).digest().equals(cache.subarray(0, 32)));`;
  t.equal(spawnSync(process.execPath, [...flags, '-e', accepted], { cwd: lib, encoding: 'utf8' }).stdout, 'false true\n', 'V8 takes it');

  const version = (main: string) => run(join(lib, main), '--version').stdout;
  const [, number = ''] = /^criquet (\d+\.\d+\.\d+)\n$/.exec(version('start.js')) ?? [];
  const other = number.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10));
  const bundle = readFileSync(join(lib, 'criquet.js'), 'utf8');
  writeFileSync(join(lib, 'criquet.js'), bundle.replaceAll(`"${number}"`, `"${other}"`));
  t.equal(version('start.js'), `criquet ${other}\n`, 'a bundle of the same length');
  writeFileSync(join(lib, 'criquet.js'), bundle);
  for (const [what, damaged] of [
    ['empty', Buffer.alloc(0)],
    ['cut off', cache.subarray(0, 1_000)],
    ['of zeros', Buffer.concat([cache.subarray(0, 32), Buffer.alloc(100_000)])],
  ] as const) {
    writeFileSync(join(lib, 'code-cache'), damaged);
    t.equal(version('start.js'), `criquet ${number}\n`, what);
  }
  rmSync(join(lib, 'code-cache'));
  t.equal(version('start.js'), `criquet ${number}\n`, 'none');
});

await t.test('a logged error names the line of the source', async (t) => {
  const lib = elsewhere(t);
  for (const main of ['criquet.js', 'start.js']) {
    const { stack, stderr } = failingStart(t, join(lib, main));
    t.match(stderr, /cannot reach containerd at \/nonexistent\.sock/);
    const [, file = '', line = ''] = /at whenAnswering \((packages\/shim-server\/src\/[\w/-]+\.ts):(\d+)\)/.exec(stack) ?? [];
    t.equal(file, 'packages/shim-server/src/start-shim-server.ts', stack);
    t.match(readFileSync(join(CHECKOUT, file), 'utf8').split('\n')[Number(line) - 1], /throw new Error\(`containerd\.address/);
  }
});

await t.test('so does an error that nobody expected, and Node ends as ever', async (t) => {
  const lib = elsewhere(t);
  writeFileSync(join(lib, 'preload.cjs'), `process.once('newListener', () => setImmediate(() => process.stdout.emit('error', null)));`);
  const { status, stderr } = spawnSync(process.execPath, ['--require', join(lib, 'preload.cjs'), join(lib, 'criquet.js'), '--version'], { encoding: 'utf8' });
  t.equal(status, 1);
  const line = /at \S+ \(?packages\/cli\/src\/main\.ts:(\d+)/.exec(stderr)?.[1] ?? '';
  t.match(readFileSync(join(CHECKOUT, 'packages/cli/src/main.ts'), 'utf8').split('\n')[Number(line) - 1], /error\.code === 'EPIPE'/, stderr);
});

await t.test('the source map is read for an error and not at the start', async (t) => {
  const lib = elsewhere(t);
  writeFileSync(join(lib, 'criquet.js.map'), 'no map');
  t.match(run(join(lib, 'criquet.js'), '--version'), { code: 0, stderr: '' });
  t.match(failingStart(t, join(lib, 'criquet.js')).stack, /at whenAnswering \(\S+criquet\.js:\d+:\d+\)/, 'where there is none, positions are those of the bundle');
});

await t.test('the thread for network namespaces finds its native part', async (t) => {
  const worker = new Worker(join(elsewhere(t), 'netns-worker.js'));
  t.teardown(() => worker.terminate());
  // What is not there is released.
  worker.postMessage({ id: 7, operation: 'release', path: '/nonexistent/netns' });
  t.same(await once(worker, 'message'), [{ id: 7 }]);
});

await t.test('native parts are those of this machine', async (t) => {
  const native = join(elsewhere(t), 'native');
  t.ok(readdirSync(join(native, 'koffi')).some((name) => name.startsWith('linux_')));
  const installed = createRequire(join(CHECKOUT, 'packages/shim-server/package.json')).resolve('bufferutil/package.json');
  const prebuilt = existsSync(join(installed, '../prebuilds', `${process.platform}-${process.arch}`));
  t.equal(existsSync(join(native, 'bufferutil.node')), prebuilt);
  if (!prebuilt) return;
  const { mask } = createRequire(join(native, 'x.js'))('./bufferutil.node') as { mask(source: Buffer, mask: Buffer, output: Buffer, offset: number, length: number): void };
  const output = Buffer.alloc(2);
  mask(Buffer.from([1, 2]), Buffer.from([255, 0, 0, 0]), output, 0, 2);
  t.same([...output], [254, 2]);
});

await t.test('licences of what is inside lie beside it', async (t) => {
  const notices = readFileSync(join(BUNDLE, 'THIRD-PARTY-NOTICES'), 'utf8');
  for (const name of ['@grpc/grpc-js', 'commander', 'koffi', 'pino', 'tsyringe', 'ws', 'zod']) t.match(notices, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'));
  t.match(notices, /Copyright \(c\) 2011 TJ Holowaychuk/, "commander's");
});
