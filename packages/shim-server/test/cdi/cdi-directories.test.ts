import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { CdiDirectories } from '../../src/cdi/cdi-directories.js';
import { errorOf } from '../spec/fixtures.js';

const spec = (kind: string, devices: Record<string, string>, all?: string) =>
  JSON.stringify({
    cdiVersion: '0.6.0',
    kind,
    devices: Object.entries(devices).map(([name, env]) => ({ name, containerEdits: { env: [env] } })),
    ...(all === undefined ? {} : { containerEdits: { env: [all] } }),
  });

function directories(dir: string) {
  const warnings: string[] = [];
  const cdi = new CdiDirectories([join(dir, 'static'), join(dir, 'dynamic')], (file, problem) => warnings.push(`${file.slice(dir.length + 1)}: ${problem}`));
  const find = async (...names: string[]) => {
    const edits = await cdi.editsFor(names.map((name) => ({ field: `field of ${name}`, name })));
    return edits.flatMap(({ env }) => env);
  };
  return { find, warnings };
}

void t.test('X7 CDI: directories that do not exist, and appear', async (t) => {
  const dir = t.testdir();
  const { find, warnings } = directories(dir);
  t.same(await find(), []);
  const error = await errorOf(() => find('v.com/c=a'));
  t.equal(error.code, status.FAILED_PRECONDITION);
  t.match(error.message, /^field of v\.com\/c=a: no CDI device "v\.com\/c=a" is defined in .*static, .*dynamic$/);
  mkdirSync(join(dir, 'dynamic'));
  writeFileSync(join(dir, 'dynamic/v.json'), spec('v.com/c', { a: 'A=1' }));
  t.same(await find('v.com/c=a'), ['A=1']);
  t.same(warnings, []);
});

void t.test('X7 CDI: a file is read again when it changed, also when its size stays', async (t) => {
  const dir = t.testdir({ static: { 'v.json': spec('v.com/c', { a: 'A=1' }) } });
  const { find } = directories(dir);
  const path = join(dir, 'static/v.json');
  utimesSync(path, 1, 1);
  t.same(await find('v.com/c=a'), ['A=1']);
  writeFileSync(path, spec('v.com/c', { a: 'A=2' }));
  t.same(await find('v.com/c=a'), ['A=2']);
  writeFileSync(`${path}.new`, spec('v.com/c', { a: 'A=3' }));
  renameSync(`${path}.new`, path);
  t.same(await find('v.com/c=a'), ['A=3']);
  rmSync(path);
  await t.rejects(find('v.com/c=a'));
});

void t.test("a file's own edits come once, before its first device; YAML too; other names are no specs", async (t) => {
  const dir = t.testdir({
    static: {
      'a.json': spec('v.com/c', { a: 'A=1', b: 'B=1' }, 'ALL=c'),
      'b.yaml': 'cdiVersion: 0.6.0\nkind: v.com/d\ndevices: [{name: x, containerEdits: {env: [X=1]}}]\n',
      'c.yml': 'broken: [',
      'd.json.bak': 'broken: [',
      'e.json': {},
    },
  });
  const { find, warnings } = directories(dir);
  t.same(await find('v.com/c=b', 'v.com/d=x', 'v.com/c=a'), ['ALL=c', 'B=1', 'X=1', 'A=1']);
  t.same(warnings, []);
});

void t.test('the later directory goes before the earlier one; two files of one directory are a conflict', async (t) => {
  const dir = t.testdir({
    static: { 'a.json': spec('v.com/c', { a: 'A=static', b: 'B=static', c: 'C=static' }), 'b.json': spec('v.com/c', { c: 'C=other', a: 'A=other' }) },
    dynamic: { 'a.json': spec('v.com/c', { a: 'A=dynamic', d: 'D=1' }), 'b.json': spec('v.com/c', { b: 'B=1' }), 'c.json': spec('v.com/c', { d: 'D=2' }) },
  });
  const { find } = directories(dir);
  t.same(await find('v.com/c=a'), ['A=dynamic'], 'also over a conflict');
  t.same(await find('v.com/c=b'), ['B=1']);
  const inStatic = await errorOf(() => find('v.com/c=c'));
  t.equal(inStatic.code, status.FAILED_PRECONDITION);
  t.match(inStatic.message, /defined more than once: by .*static\/a\.json and .*static\/b\.json/);
  t.match((await errorOf(() => find('v.com/c=b', 'v.com/c=d'))).message, /field of v\.com\/c=d: .*dynamic\/a\.json and .*dynamic\/c\.json/);
});

void t.test('X7 CDI: one broken spec among good ones does not matter, and is told of once', async (t) => {
  const dir = t.testdir({ static: { 'bad.json': '{"cdiVersion": "0.6.0"', 'good.json': spec('v.com/c', { a: 'A=1' }) } });
  for (const name of ['bad.json', 'good.json']) utimesSync(join(dir, 'static', name), 1, 1);
  symlinkSync('nowhere', join(dir, 'static/dangling.yaml'));
  const { find, warnings } = directories(dir);
  t.same(await find('v.com/c=a'), ['A=1']);
  t.same(await find('v.com/c=a'), ['A=1']);
  t.equal(warnings.length, 2);
  t.match(warnings.join('\n'), /static\/bad\.json: ./);
  t.match(warnings.join('\n'), /static\/dangling\.yaml: ENOENT/);
  const unknown = await errorOf(() => find('v.com/c=b'));
  t.match(unknown.message, /no CDI device "v\.com\/c=b".*files that cannot be used: .*bad\.json/, 'it may be in there');
  writeFileSync(join(dir, 'static/bad.json'), 'still: [bad');
  t.same(await find('v.com/c=a'), ['A=1']);
  t.equal(warnings.length, 3, 'told again when it changed');
});
