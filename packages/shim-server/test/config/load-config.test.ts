import { join } from 'node:path';
import t from 'tap';
import { ConfigError, defaultConfig, loadConfig } from '../../src/config/index.js';

async function failure(promise: Promise<unknown>): Promise<ConfigError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('expected a ConfigError');
}

await t.test('defaults', async (t) => {
  const config = defaultConfig();
  t.match(config, {
    listen: 'unix:///run/criquet/criquet.sock',
    stateDir: '/run/criquet',
    rootDir: '/var/lib/criquet',
    logLevel: 'info',
    sandboxImage: '',
    containerd: {
      address: 'unix:///run/containerd/containerd.sock',
      namespace: 'k8s.io',
      snapshotter: 'overlayfs',
      connectTimeout: 10_000,
      callTimeout: 120_000,
    },
    runtime: { defaultHandler: 'runc' },
    cni: {
      confDir: '/etc/cni/net.d',
      binDirs: ['/opt/cni/bin', '/usr/lib/cni'],
      cacheDir: '/var/lib/cni',
      maxConfNum: 1,
      netnsDir: '/run/criquet/netns',
    },
    image: { hostsDir: '/etc/containerd/certs.d', pullProgressTimeout: 300_000 },
    container: {
      maxLogLineSize: 16384,
      shmSize: 64 * 1024 * 1024,
      execSyncOutputLimit: 15 * 1024 * 1024,
    },
  });
  t.same(Object.keys(config.runtime.handlers), ['runc']);
  t.match(config.runtime.handlers.runc, { runtimeType: 'io.containerd.runc.v2', runtimePath: '', binaryName: '' });
  t.equal(config.runtime.handlers.runc?.systemdCgroup, undefined);
});

await t.test('file, drop-ins in lexical order, flags: the last wins, tables merge, lists are replaced', async (t) => {
  const dir = t.testdir({
    'config.toml': `
      listen = "/a.sock"
      state_dir = "/from-file"
      [containerd]
      address = "/from-file.sock"
      [cni]
      bin_dirs = ["/one", "/two"]
      [runtime.handlers.kata_qemu]
      runtime_type = "io.containerd.kata.v2"
    `,
    'config.d': {
      '10-first.toml': 'log_level = "debug"\n[containerd]\nnamespace = "ten"',
      '20-second.toml': '[containerd]\nnamespace = "twenty"\n[cni]\nbin_dirs = ["/three"]\n[runtime.handlers.runc]\nsystemd_cgroup = true',
      'ignored.txt': 'not toml',
      '.hidden.toml': 'neither = "read"',
    },
  });
  const file = join(dir, 'config.toml');
  const { config, files } = await loadConfig({
    path: file,
    overrides: [{ flag: '--containerd', key: 'containerd.address', value: 'unix:///flag.sock' }],
  });
  t.equal(config.listen, 'unix:///a.sock');
  t.equal(config.logLevel, 'debug');
  t.equal(config.containerd.namespace, 'twenty');
  t.equal(config.containerd.address, 'unix:///flag.sock');
  t.same(config.cni.binDirs, ['/three']);
  t.equal(config.cni.netnsDir, '/from-file/netns', 'follows state_dir');
  t.same(Object.keys(config.runtime.handlers).sort(), ['kata_qemu', 'runc'], 'names of handlers stay as written');
  t.equal(config.runtime.handlers.runc?.systemdCgroup, true);
  t.same(files, [file, join(dir, 'config.d/10-first.toml'), join(dir, 'config.d/20-second.toml')]);
});

await t.test('drop-ins belong to the file they are named after', async (t) => {
  const dir = t.testdir({
    'a.toml': '',
    'a.d': { 'x.toml': 'log_level = "trace"' },
    'config.d': { 'x.toml': 'log_level = "error"' },
  });
  t.equal((await loadConfig({ path: join(dir, 'a.toml') })).config.logLevel, 'trace');
});

await t.test('a --config file that does not exist is an error', async (t) => {
  const path = join(t.testdir({}), 'none.toml');
  const error = await failure(loadConfig({ path }));
  t.equal(error.message, `${path}: there is no such file`);
});

await t.test('a directory in place of the file, a file in place of the drop-in directory', async (t) => {
  const dir = t.testdir({ 'dir.toml': {}, 'config.toml': '', 'config.d': 'a file' });
  t.match((await failure(loadConfig({ path: join(dir, 'dir.toml') }))).message, /dir\.toml: cannot be read: EISDIR/);
  t.match((await failure(loadConfig({ path: join(dir, 'config.toml') }))).message, /config\.d: cannot be read: ENOTDIR/);
});

await t.test('broken TOML names line and column', async (t) => {
  const path = join(t.testdir({ 'c.toml': 'listen = "/a"\nstate_dir = \n' }), 'c.toml');
  t.match((await failure(loadConfig({ path }))).message, new RegExp(`^${path}: line 2, column \\d+: `));
});

await t.test('what is wrong names file, key and what is allowed', async (t) => {
  const cases: [name: string, toml: string, expected: string][] = [
    ['unknown key', 'listn = "/a"', 'listn: unknown key, did you mean listen?; allowed here: listen, state_dir,'],
    ['unknown key far from any', 'frobnicate = 1', 'frobnicate: unknown key; allowed here: listen,'],
    ['unknown key in a table', '[containerd]\nadress = "/a"', 'containerd.adress: unknown key, did you mean address?; allowed here: address, namespace,'],
    ['unknown key of a handler', '[runtime.handlers.x]\ntype = "a"', 'runtime.handlers.x.type: unknown key; allowed here: runtime_type,'],
    ['unknown table', '[docker]', 'docker: unknown key; allowed here:'],
    ['number for text', 'log_level = 3', 'log_level: expected one of "silent", "fatal", "error", "warn", "info", "debug", "trace", got 3'],
    ['unknown level', 'log_level = "loud"', 'log_level: expected one of "silent"'],
    ['relative path', 'state_dir = "run"', 'state_dir: expected an absolute path such as "/run/criquet", got "run"'],
    ['TCP address', 'listen = "tcp://127.0.0.1:80"', 'listen: expected a unix socket address such as "unix:///run/criquet/criquet.sock", its path at most 107 bytes, got "tcp://127.0.0.1:80"'],
    ['text for a list', '[cni]\nbin_dirs = "/opt"', 'cni.bin_dirs: expected a list of absolute paths, at least one, got "/opt"'],
    ['bad element of a list', '[cni]\nbin_dirs = ["/opt", 3]', 'cni.bin_dirs: expected a list of absolute paths, at least one, got ["/opt",3]'],
    ['empty list', '[cni]\nbin_dirs = []', 'cni.bin_dirs: expected a list of absolute paths, at least one, got []'],
    ['number for a duration', '[containerd]\ncall_timeout = 30', 'containerd.call_timeout: expected a duration of 1ms or more such as "30s", "5m" or "1h30m", got 30'],
    ['bad duration', '[containerd]\ncall_timeout = "30"', 'containerd.call_timeout: expected a duration'],
    ['duration of nothing', '[containerd]\ncall_timeout = "0s"', 'containerd.call_timeout: expected a duration'],
    ['bad size', '[container]\nshm_size = "64 MB"', 'container.shm_size: expected a size in bytes such as 65536 or "64Mi", from 4Ki to 1024Gi, got "64 MB"'],
    ['size out of range', '[container]\nexec_sync_output_limit = "16Mi"', 'container.exec_sync_output_limit: expected a size in bytes'],
    ['fraction for a whole number', '[cni]\nmax_conf_num = 1.5', 'cni.max_conf_num: expected a whole number from 1 to 100, got 1.5'],
    ['number out of range', '[cni]\nmax_conf_num = 0', 'cni.max_conf_num: expected a whole number from 1 to 100, got 0'],
    ['text for a flag', '[runtime.handlers.runc]\nsystemd_cgroup = "yes"', 'runtime.handlers.runc.systemd_cgroup: expected true or false, got "yes"'],
    ['value for a table', 'cni = 3', 'cni: expected a table, got 3'],
    ['date for text', 'sandbox_image = 2020-01-01', 'sandbox_image: expected a string, got "2020-01-01"'],
    ['default handler that is not there', '[runtime]\ndefault_handler = "kata"', 'runtime.default_handler: there is no handler "kata"; handlers: runc'],
  ];
  for (const [name, toml, expected] of cases) {
    const path = join(t.testdir({ 'c.toml': toml }), 'c.toml');
    const error = await failure(loadConfig({ path }));
    t.ok(error.message.startsWith(`${path}: ${expected}`), `${name}: ${error.message}`);
  }
});

await t.test('all problems are reported, each with its own source', async (t) => {
  const dir = t.testdir({ 'config.toml': 'foo = 1\nbar = 2', 'config.d': { 'a.toml': '[cni]\nconf_dir = 1' } });
  const error = await failure(
    loadConfig({ path: join(dir, 'config.toml'), overrides: [{ flag: '--log-level', key: 'log_level', value: 'x' }] }),
  );
  t.same(
    error.problems.map(({ source, key }) => [source.replace(`${dir}/`, ''), key]),
    [
      ['config.toml', 'foo'],
      ['config.toml', 'bar'],
      ['config.d/a.toml', 'cni.conf_dir'],
      ['--log-level', 'log_level'],
    ],
  );
});

await t.test('a file that cannot be read or parsed does not hide what is wrong in others', async (t) => {
  const dir = t.testdir({
    'c.toml': 'log_levl = "info"',
    'c.d': { '10.toml': 'a = \n', '20.toml': '[cni]\nmax_conf_num = "x"', '30.toml': {} },
  });
  const error = await loadConfig({ path: join(dir, 'c.toml'), overrides: [{ flag: '--listen', key: 'listen', value: 'x' }] }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  t.match(error, { name: 'ConfigError' });
  const { problems } = error as ConfigError;
  t.same(
    problems.map(({ source, key }) => [source.replace(dir, ''), key]),
    [
      ['/c.toml', 'log_levl'],
      ['/c.d/10.toml', undefined],
      ['/c.d/20.toml', 'cni.max_conf_num'],
      ['/c.d/30.toml', undefined],
      ['--listen', 'listen'],
    ],
  );
  t.match(problems[1]?.message, /^line 1, column 5: /);
});

await t.test('durations and sizes', async (t) => {
  const cases: [string, number][] = [
    ['1h30m', 5_400_000],
    ['1.5s', 1500],
    ['250ms', 250],
    ['2m0.5s', 120_500],
    ['1000us', 1],
    ['1000µs', 1],
  ];
  for (const [written, ms] of cases) {
    const overrides = [{ flag: '-', key: 'containerd.call_timeout', value: written }];
    t.equal((await loadConfig({ path: join(t.testdir({ 'empty.toml': '' }), 'empty.toml'), overrides })).config.containerd.callTimeout, ms, written);
  }
  const sizes: [unknown, number][] = [
    [8192, 8192],
    ['4Ki', 4096],
    ['8k', 8000],
    ['1Gi', 1073741824],
    ['1M', 1_000_000],
  ];
  for (const [written, bytes] of sizes) {
    const overrides = [{ flag: '-', key: 'container.shm_size', value: written }];
    t.equal((await loadConfig({ path: join(t.testdir({ 'empty.toml': '' }), 'empty.toml'), overrides })).config.container.shmSize, bytes, String(written));
  }
});


await t.test('resource limits: each name once, soft not above hard', async (t) => {
  const load = (value: unknown[]) =>
    loadConfig({ path: join(t.testdir({ 'empty.toml': '' }), 'empty.toml'), overrides: [{ flag: '-', key: 'resources.default_ulimits', value }] });
  t.same((await load(['nofile=1024:4096', 'core=0'])).config.resources.defaultUlimits, ['nofile=1024:4096', 'core=0']);
  const cases: [value: unknown[], why: string[]][] = [
    [['core=0', 'nofile'], ['entry 2, "nofile": is not NAME=SOFT:HARD or NAME=BOTH']],
    [['nofile=lots'], ['entry 1, "nofile=lots": "lots" is neither a number nor "unlimited"']],
    [['nofile=1:2:3'], ['entry 1, "nofile=1:2:3": is not NAME=SOFT:HARD or NAME=BOTH']],
    [['nofile=2:1'], ['entry 1, "nofile=2:1": the soft limit is above the hard limit']],
    [['files=1'], ['entry 1, "files=1": there is no limit "files"; limits: as, core,']],
    [['core=18446744073709551616'], ['entry 1, "core=18446744073709551616": "18446744073709551616" is above 18446744073709551615']],
    [['core=0', 'core=1'], ['entry 2, "core=1": entry 1 limits core already']],
    [['a=1', 'core=2:1', 'b=1'], ['entry 1, "a=1": there is no limit "a"', 'entry 2, "core=2:1": the soft', 'entry 3, "b=1": there is no limit "b"']],
  ];
  for (const [value, why] of cases) {
    const { problems } = await failure(load(value));
    t.same(problems.map(({ key }) => key), why.map(() => 'resources.default_ulimits'), JSON.stringify(value));
    for (const [index, line] of why.entries()) t.ok(problems[index]?.message.startsWith(line), line);
  }
});

await t.test('several wrong entries of a list are one line', async (t) => {
  const path = join(t.testdir({ 'c.toml': '[cni]\nbin_dirs = ["a", "b", 3]' }), 'c.toml');
  t.equal((await failure(loadConfig({ path }))).message, `${path}: cni.bin_dirs: expected a list of absolute paths, at least one, got ["a","b",3]`);
});
