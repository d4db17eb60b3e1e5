import t from 'tap';
import { CniConfigError, parseConfig, parseConfigList } from '../../src/index.js';

const FILE = '/etc/cni/net.d/10-net.conflist';
const plugins = [{ type: 'bridge' }];
const list = (fields: Record<string, unknown>): string => JSON.stringify(fields);

t.test('reads every field of the format', async (t) => {
  const json = list({
    cniVersion: '1.1.0',
    name: 'db.net_1-a',
    disableCheck: true,
    disableGC: 'TRUE',
    loadOnlyInlinedPlugins: 'false',
    plugins: [{ type: 'bridge', keyA: ['more', { deep: 1 }] }, { type: 'portmap', capabilities: { portMappings: true, mac: false } }],
  });
  const parsed = parseConfigList(json, FILE);
  t.match(parsed, { name: 'db.net_1-a', cniVersion: '1.1.0', disableCheck: true, disableGC: true, loadOnlyInlinedPlugins: false, file: FILE, bytes: json });
  t.same(parsed.plugins.map(({ type, capabilities }) => [type, capabilities]), [['bridge', []], ['portmap', ['portMappings']]]);
  t.same(parsed.plugins[0]?.raw, { type: 'bridge', keyA: ['more', { deep: 1 }] });
});

t.test('picks the newest version that is supported', async (t) => {
  const cases: Array<[Record<string, unknown>, string]> = [
    [{}, '0.1.0'],
    [{ cniVersion: '' }, '0.1.0'],
    [{ cniVersion: '0.2.0' }, '0.2.0'],
    [{ cniVersion: '0.3.1', cniVersions: ['0.4.0', '1.0.0', '0.3.0'] }, '1.0.0'],
    [{ cniVersion: '1.1.0', cniVersions: ['0.4.0'] }, '1.1.0'],
    [{ cniVersions: ['1.0.0', '1.9.0', '2.0.0'] }, '1.0.0'],
    [{ cniVersion: '1.9.0', cniVersions: ['0.4.0'] }, '0.4.0'],
  ];
  for (const [fields, expected] of cases) t.equal(parseConfigList(list({ name: 'n', plugins, ...fields }), FILE).cniVersion, expected);
});

t.test('an invalid list names file and field', async (t) => {
  const cases: Array<[string, string, RegExp]> = [
    ['', '', /the file is empty/],
    ['{"name":', '', /no JSON/],
    ['[]', '', /expected an object, found a list/],
    [list({ plugins }), 'name', /missing/],
    [list({ name: 7, plugins }), 'name', /expected a string, found a number/],
    [list({ name: '../up', plugins }), 'name', /invalid characters/],
    [list({ name: '-x', plugins }), 'name', /invalid characters/],
    [list({ name: 'n', cniVersion: 1, plugins }), 'cniVersion', /expected a string/],
    [list({ name: 'n', cniVersion: '1.2.0', plugins }), 'cniVersion', /"1\.2\.0" is supported; 1\.1\.0/],
    [list({ name: 'n', cniVersions: ['9.9.9'], plugins }), 'cniVersions', /"9\.9\.9"/],
    [list({ name: 'n', cniVersions: '1.0.0', plugins }), 'cniVersions', /expected a list, found a string/],
    [list({ name: 'n', cniVersions: [1], plugins }), 'cniVersions[0]', /expected a string/],
    [list({ name: 'n', disableCheck: 'maybe', plugins }), 'disableCheck', /"maybe"/],
    [list({ name: 'n', disableGC: 1, plugins }), 'disableGC', /expected true or false, found a number/],
    [list({ name: 'n' }), 'plugins', /missing/],
    [list({ name: 'n', plugins: [] }), 'plugins', /empty/],
    [list({ name: 'n', plugins: {} }), 'plugins', /expected a list, found an object/],
    [list({ name: 'n', loadOnlyInlinedPlugins: true }), 'plugins', /loadOnlyInlinedPlugins/],
    [list({ name: 'n', plugins: ['bridge'] }), 'plugins[0]', /expected an object, found a string/],
    [list({ name: 'n', plugins: [...plugins, {}] }), 'plugins[1].type', /missing/],
    [list({ name: 'n', plugins: [{ type: 'a/b' }] }), 'plugins[0].type', /no name of an executable/],
    [list({ name: 'n', plugins: [{ type: 'a', capabilities: [] }] }), 'plugins[0].capabilities', /expected an object/],
    [list({ name: 'n', plugins: [{ type: 'a', capabilities: { mac: 'yes' } }] }), 'plugins[0].capabilities.mac', /true or false/],
  ];
  for (const [json, field, message] of cases) {
    t.throws(() => parseConfigList(json, FILE), { name: 'CniConfigError', file: FILE, field, message }, json);
  }
});

t.test('plugin files are appended, and the stored form holds them', async (t) => {
  const json = list({ cniVersion: '1.0.0', name: 'n', plugins, extra: 'kept' });
  const parsed = parseConfigList(json, FILE, [{ file: '/x/n/10.conf', json: '{"type":"tuning"}' }]);
  t.same(parsed.plugins.map(({ type }) => type), ['bridge', 'tuning']);
  const stored = parseConfigList(parsed.bytes, '(cache)');
  t.same(stored.plugins.map(({ type }) => type), ['bridge', 'tuning']);
  t.equal(stored.loadOnlyInlinedPlugins, true);
  t.match(JSON.parse(parsed.bytes), { extra: 'kept' });

  const only = list({ name: 'n', plugins, loadOnlyInlinedPlugins: true });
  t.equal(parseConfigList(only, FILE, [{ file: '/x/n/10.conf', json: '{"type":"tuning"}' }]).plugins.length, 1);
  t.throws(() => parseConfigList(json, FILE, [{ file: '/x/n/10.conf', json: '{}' }]), { name: 'CniConfigError', file: '/x/n/10.conf', field: 'type' });
});

t.test('a single plugin becomes a list of one', async (t) => {
  const parsed = parseConfig(list({ cniVersion: '0.3.1', name: 'old', type: 'bridge', bridge: 'br0' }), '/etc/cni/net.d/1.conf');
  t.match(parsed, { name: 'old', cniVersion: '0.3.1', disableCheck: false, disableGC: false, plugins: [{ type: 'bridge' }] });
  t.same(parsed.plugins[0]?.raw, { cniVersion: '0.3.1', name: 'old', type: 'bridge', bridge: 'br0' });
  t.match(parseConfigList(parsed.bytes, '(cache)'), { name: 'old', cniVersion: '0.3.1', plugins: [{ type: 'bridge', raw: { bridge: 'br0' } }] });
  t.throws(() => parseConfig(list({ name: 'n', plugins }), '/x.conf'), { field: 'type', message: /\.conflist/ });
  t.throws(() => parseConfig(list({ name: 'n' }), '/x.conf'), { field: 'type', message: /missing/ });
  t.throws(() => parseConfig(list({ type: 'bridge' }), '/x.conf'), { name: 'CniConfigError', field: 'name' });
});

t.test('null is absent, and odd keys survive', async (t) => {
  const json = '{"name":"n","cniVersion":null,"plugins":[{"type":"a","__proto__":{"x":1},"capabilities":null}]}';
  const parsed = parseConfigList(json, FILE);
  t.equal(parsed.cniVersion, '0.1.0');
  t.same(Object.keys(parsed.plugins[0]?.raw ?? {}), ['type', '__proto__', 'capabilities']);
  t.ok(new CniConfigError('/f', '', 'r') instanceof Error);
});
