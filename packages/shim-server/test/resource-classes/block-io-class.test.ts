import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { blockIoClass } from '../../src/resource-classes/block-io-class.js';
import { matchPaths } from '../../src/resource-classes/match-paths.js';
import { parseQuantity } from '../../src/resource-classes/quantity.js';
import { errorOf } from '../spec/fixtures.js';

const inClass = (name: string) => ({ name: 'app', annotations: { 'io.kubernetes.cri.blockio-class': name }, podAnnotations: {} });

function disks(dir: string): void {
  for (const [name, minor] of [['sda', 0], ['sdb', 16], ['sdc', 32]] as const) execFileSync('mknod', [join(dir, name), 'b', '8', String(minor)]);
  execFileSync('mknod', [join(dir, 'sdx'), 'c', '1', '3']);
  writeFileSync(join(dir, 'sdf'), '');
  symlinkSync('sdb', join(dir, 'ssd-of-vendor'));
}

void t.test('block IO: weights and limits, later entries over earlier ones for the same device', async (t) => {
  const dir = t.testdir();
  disks(dir);
  const configFile = join(dir, 'classes.yaml');
  writeFileSync(
    configFile,
    `
Classes:
  slow:
  - Weight: 80
  - Devices: ["${dir}/sd*", "${dir}/absent*"]
    ThrottleReadBps: 50M
    ThrottleWriteBps: 10Mi
    ThrottleReadIOPS: 10k
    throttleWriteIOPS: 5k
    Weight: 50
  - Devices: ["${dir}/ssd-*"]
    ThrottleReadBps: 100M
    Weight: 500
  Weight:
  - Weight: 10
  nothing: []
`,
  );
  const find = (name: string) => blockIoClass(inClass(name), { configFile, ignoreNotEnabled: false });
  const each = (field: string, a: number, b: number, c: number) => [0, 16, 32].map((minor, index) => ({ major: 8, minor, [field]: [a, b, c][index] }));
  t.same(await find('slow'), {
    weight: 80,
    weightDevice: each('weight', 50, 500, 50),
    throttleReadBpsDevice: each('rate', 50e6, 100e6, 50e6),
    throttleWriteBpsDevice: each('rate', 10 * 2 ** 20, 10 * 2 ** 20, 10 * 2 ** 20),
    throttleReadIOPSDevice: each('rate', 10_000, 10_000, 10_000),
    throttleWriteIOPSDevice: each('rate', 5000, 5000, 5000),
  });
  t.same(await find('Weight'), { weight: 10 }, 'a class may be called like a key');
  t.same(await find('nothing'), {});
  t.equal(await blockIoClass({ name: 'app', annotations: {}, podAnnotations: {} }, { configFile: '', ignoreNotEnabled: false }), undefined);
  for (const podAnnotations of [{ 'blockio.resources.beta.kubernetes.io/pod': 'Weight' }, { 'blockio.resources.beta.kubernetes.io/container.app': 'Weight' }]) {
    t.same(await blockIoClass({ name: 'app', annotations: {}, podAnnotations }, { configFile, ignoreNotEnabled: false }), { weight: 10 });
  }
  const unknown = await errorOf(() => find('constructor'));
  t.equal(unknown.code, status.FAILED_PRECONDITION);
  t.match(unknown.message, /"constructor" is not in .*classes\.yaml/);
});

void t.test('block IO: a node without usable classes', async (t) => {
  const dir = t.testdir({ 'bad.yaml': 'Classes: {a: [{Weight: 5}]}', 'odd.yaml': 'Classes: {a: [{Wait: 50}]}', 'empty.yaml': '' });
  const cases: [file: string, says: RegExp][] = [
    ['', /not enabled.*blockio_config_file is not set/],
    [join(dir, 'absent.yaml'), /not enabled.*absent\.yaml: ENOENT/],
    [join(dir, 'bad.yaml'), /bad\.yaml: Classes\.a\.0\.Weight: "5" is not a number from 10 to 1000/],
    [join(dir, 'odd.yaml'), /Classes\.a\.0.*Wait/],
  ];
  for (const [configFile, says] of cases) {
    const error = await errorOf(() => blockIoClass(inClass('a'), { configFile, ignoreNotEnabled: false }));
    t.equal(error.code, status.FAILED_PRECONDITION);
    t.match(error.message, says);
    t.equal(await blockIoClass(inClass('a'), { configFile, ignoreNotEnabled: true }), undefined);
  }
  await t.rejects(blockIoClass(inClass('a'), { configFile: join(dir, 'empty.yaml'), ignoreNotEnabled: true }), { message: /is not in/ });
});

void t.test('quantities of Kubernetes', (t) => {
  const cases: [string, number | undefined][] = [
    ['100', 100], ['10k', 10_000], ['50M', 50e6], ['1.5Gi', 1.5 * 2 ** 30], ['1e3', 1000], ['2E3', 2000], ['.5k', 500], ['1500m', 2], ['100m', 1],
    ['-1', -1], ['0.1k', 100], ['1.1M', 1_100_000], ['', undefined], ['10 k', undefined], ['10KB', undefined], ['x', undefined], ['1E', undefined], ['9Ei', undefined],
  ];
  for (const [text, value] of cases) t.equal(parseQuantity(text), value, text);
  t.end();
});

void t.test('patterns of the shell', async (t) => {
  const dir = t.testdir({ sda: '', sdb: '', sd1: '', 'a*b': '', 'a.b': '', axb: '', sub: { x: '' }, sup: { x: '', y: '' } });
  const match = async (pattern: string) => (await matchPaths(join(dir, pattern))).map((path) => path.slice(dir.length + 1));
  t.same(await match('sd[a-z]'), ['sda', 'sdb']);
  t.same(await match('sd[^a]'), ['sd1', 'sdb']);
  t.same(await match('sd?'), ['sd1', 'sda', 'sdb']);
  t.same(await match('a\\*b'), ['a*b']);
  t.same(await match('a.b*'), ['a.b']);
  t.same(await match('su?/x'), ['sub/x', 'sup/x']);
  t.same(await match('su[bp]/*'), ['sub/x', 'sup/x', 'sup/y']);
  t.same(await match('sda'), ['sda']);
  t.same(await match('none'), []);
  t.same(await match('none/*'), []);
});
