import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import t from 'tap';
import { defaultConfig, describeConfig, loadConfig, renderConfig, renderDefaultConfig } from '../../src/config/index.js';

await t.test('the default file sets nothing, and with the comments taken off its keys it says the defaults', async (t) => {
  const text = renderDefaultConfig();
  const dir = t.testdir({ 'plain.toml': text, 'open.toml': text.replace(/^#(\w+ = )/gm, '$1') });
  t.same((await loadConfig({ path: join(dir, 'plain.toml') })).config, defaultConfig());
  t.same((await loadConfig({ path: join(dir, 'open.toml') })).config, defaultConfig());
  t.ok(Object.keys(parse(text.replace(/^#(\w+ = )/gm, '$1'))).length > 8);
});

await t.test('deploy/config.toml is the default file', async (t) => {
  const file = join(import.meta.dirname, '../../../../../deploy/config.toml');
  t.equal(readFileSync(file, 'utf8'), renderDefaultConfig(), 'refresh with: scripts/criquet config default > deploy/config.toml');
});

await t.test('a rendered configuration reads back as it was', async (t) => {
  const overrides = [
    { flag: '-', key: 'containerd.call_timeout', value: '1m1.5s' },
    { flag: '-', key: 'container.shm_size', value: '1Gi' },
    { flag: '-', key: 'cni.bin_dirs', value: ['/a "b"', '/c\\d'] },
    { flag: '-', key: 'resources.default_ulimits', value: ['nofile=1024:4096', 'core=0'] },
    { flag: '-', key: 'runtime.handlers', value: { 'my.kata': { runtime_type: 'io.containerd.kata.v2', systemd_cgroup: false } } },
  ];
  const { config } = await loadConfig({ path: join(t.testdir({ 'e.toml': '' }), 'e.toml'), overrides });
  const path = join(t.testdir({ 'dump.toml': renderConfig(config) }), 'dump.toml');
  t.same((await loadConfig({ path })).config, config);
});

await t.test('durations are written as people write them', async (t) => {
  const written = async (value: string) => {
    const { config } = await loadConfig({ path: join(t.testdir({ 'e.toml': '' }), 'e.toml'), overrides: [{ flag: '-', key: 'containerd.call_timeout', value }] });
    return /^call_timeout = "(.*)"$/m.exec(renderConfig(config))?.[1];
  };
  const cases: [value: string, expected: string][] = [
    ['10000ms', '10s'],
    ['120s', '2m'],
    ['90s', '1m30s'],
    ['3600s', '1h'],
    ['1h0m1.5s', '1h1.5s'],
    ['250ms', '250ms'],
    ['1001ms', '1.001s'],
    ['36h', '36h'],
  ];
  for (const [value, expected] of cases) t.equal(await written(value), expected, value);
});

await t.test('every key is documented', async (t) => {
  for (const table of describeConfig()) {
    for (const key of table.keys) {
      t.ok(key.description.length > 10, `${key.path.join('.')} has a description`);
      t.ok(key.allowed.length > 3 && key.allowed !== 'a table', `${key.path.join('.')} says what is allowed`);
    }
  }
});
