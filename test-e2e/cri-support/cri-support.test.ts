import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readDefinition } from './definition.js';
import { component, honoured, ignored, unset, windows, type Facts } from './facts.js';
import { problems, type FindTests } from './problems.js';
import { render } from './render.js';
import { sampleRows, testedRows } from './rows.js';
import { hasTest, testNames } from './test-names.js';

const PROTO = `syntax = "proto3";
package runtime.v1;
service RuntimeService {
  rpc Run(RunRequest) returns (RunResponse) {}
  rpc Stop(StopRequest) returns (StopResponse) {}
}
message RunRequest {
  string pod_id = 1;
  repeated Mount mounts = 2;
  map<string, string> labels = 3;
  WindowsThing windows = 4;
  string old = 5 [deprecated = true];
}
message Mount {
  enum Mode { PRIVATE = 0; SHARED = 1; }
  bool readonly = 1;
  Mount below = 2;
  Mode mode = 3;
}
message WindowsThing { string name = 1; }
message RunResponse { uint64 size = 1; }
message StopRequest { repeated Mount mounts = 1; }
message StopResponse {}
`;
const there = component('there')('works');
const FACTS: Facts = {
  calls: { RuntimeService: { Run: honoured('runs', there), Stop: honoured('stops', there) } },
  enums: { 'Mount.Mode': { values: 2, text: 'both', test: there } },
  messages: {
    RunRequest: {
      pod_id: honoured('the pod', there),
      mounts: honoured('mounted', component('there')('case 7 of 9')),
      labels: honoured('kept', there),
      windows: ignored('no Windows | here'),
      old: ignored('too old'),
    },
    Mount: { readonly: honoured('ro', there), below: honoured('deeper', there), mode: honoured('as it says', there) },
    WindowsThing: windows('name'),
    RunResponse: { size: unset('nobody asks') },
    StopRequest: { mounts: honoured('unmounted', there) },
  },
};
const findTests: FindTests = (file) => Promise.resolve(file.endsWith('/there') ? ['works', /^case .* of .*$/] : undefined);

async function definition(proto: string) {
  const directory = await mkdtemp(join(tmpdir(), 'criquet-proto-'));
  try {
    await writeFile(join(directory, 'api.proto'), proto);
    return await readDefinition(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

const changed = (message: string, field: string, fact: Facts['messages'][string][string]): Facts => ({
  ...FACTS,
  messages: { ...FACTS.messages, [message]: { ...FACTS.messages[message], [field]: fact } },
});

t.test('every message stands under the first call that carries it, once', async (t) => {
  const [service] = await definition(PROTO);
  t.match(service?.calls.map(({ name, messages }) => [name, messages.map((message) => message.name)]), [
    ['Run', ['RunRequest', 'Mount', 'WindowsThing', 'RunResponse']],
    ['Stop', ['StopRequest', 'StopResponse']],
  ]);
  t.same(service?.calls[0]?.messages[0]?.fields, [
    { name: 'pod_id', key: 'podId', type: 'string', deprecated: false },
    { name: 'mounts', key: 'mounts', type: 'repeated Mount', deprecated: false },
    { name: 'labels', key: 'labels', type: 'map<string, string>', deprecated: false },
    { name: 'windows', key: 'windows', type: 'WindowsThing', deprecated: false },
    { name: 'old', key: 'old', type: 'string', deprecated: true },
  ]);
});

t.test('facts that fit have no problems; what is new in the definition, or gone from it, is one', async (t) => {
  t.same(await problems(await definition(PROTO), FACTS, findTests), []);
  const newer = PROTO.replace('bool readonly = 1;', 'bool readonly = 1; bool noexec = 9;').replace('rpc Stop', 'rpc Pause(StopRequest) returns (StopResponse) {}\n  rpc Stop');
  t.same(await problems(await definition(newer), FACTS, findTests), ['Mount.noexec has no facts', 'RuntimeService.Pause has no facts']);
  const mode = PROTO.replace('SHARED = 1;', 'SHARED = 1; SLAVE = 2;');
  t.same(await problems(await definition(mode), FACTS, findTests), ['Mount.Mode has 3 values, the facts know 2']);
  t.match(render(await definition(newer), FACTS), /\| `noexec` \| `bool` \| \*\*gap\*\* \|/);
  const older = PROTO.replace('uint64 size = 1;', '');
  t.same(await problems(await definition(older), FACTS, findTests), ['RunResponse.size has facts and is not in the definition']);
});

t.test('a test that does not exist, a missing reason and a missing test are problems', async (t) => {
  const services = await definition(PROTO);
  const found = (facts: Facts) => problems(services, facts, findTests);
  t.match(await found(changed('Mount', 'readonly', honoured('ro', component('there')('worked')))), [/^Mount\.readonly names the test "worked"/]);
  t.match(await found(changed('Mount', 'readonly', honoured('ro', component('gone')('works')))), [/^Mount\.readonly names a test in .*\/gone\.test\.ts, which is not there/]);
  t.same(await found(changed('Mount', 'readonly', ignored(''))), ['Mount.readonly is ignored without a reason']);
  t.same(await found(changed('RunResponse', 'size', unset(''))), ['RunResponse.size is unset without a reason']);
  t.same(await found(changed('Mount', 'readonly', { status: 'honoured', text: 'ro' })), ['Mount.readonly names no test']);
  t.same(await found(changed('Mount', 'readonly', honoured('', there))), ['Mount.readonly does not say what criquet does']);
});

t.test('the names of tests, as the source has them', async (t) => {
  const names = testNames([
    "test('one', () => {});",
    "t.test('it\\'s two', () => {});",
    'for (const x of [1]) test(`case ${x} (of ${9})`, () => {});',
    "pretest('no'); // test('nor this')",
    "const text = \"test('nor that')\";",
  ].join('\n'));
  for (const name of ['one', "it's two", 'case 1 (of 9)']) t.ok(hasTest(names, name), name);
  for (const name of ['no', 'nor this', 'nor that', 'case 1 of 9', 'one more']) t.notOk(hasTest(names, name), name);
});

t.test('Markdown: counts, one table a message, bars escaped', async (t) => {
  const text = render(await definition(PROTO), FACTS);
  t.match(text, '2 calls. 11 fields: 7 honoured, 2 ignored, 1 unset, 1 windows.');
  t.match(text, '| `old` (deprecated) | `string` | ignored | too old |  |');
  t.match(text, '| `Mount.Mode` | `PRIVATE`, `SHARED` | both |');
  t.match(text, 'no Windows \\| here');
  t.match(text, '| [there](../packages/shim-server/test/component/there.test.ts): works |');
  t.equal(text.split('#### Mount\n').length, 2);
});

t.test('a sample is the same for the same seed, and takes only what names a test', async (t) => {
  const rows = testedRows(await definition(PROTO), FACTS);
  t.same(rows.map(({ dropped }) => dropped), [
    'RuntimeService.Run', 'RunRequest.podId', 'RunRequest.mounts', 'RunRequest.labels', 'Mount.readonly', 'Mount.below', 'Mount.mode', 'RuntimeService.Stop', 'StopRequest.mounts',
  ]);
  const names = (seed: string) => sampleRows(rows, 3, seed).map(({ name }) => name);
  t.equal(names('a').length, 3);
  t.same(names('a'), names('a'));
  t.ok(['b', 'c', 'd', 'e'].some((seed) => names(seed).join() !== names('a').join()));
});

t.test('the real definition: a field that is added to it is a gap', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'criquet-proto-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const checkout = join(import.meta.dirname, '../../..');
  await cp(join(checkout, 'proto/cri'), directory, { recursive: true });
  const { FACTS: real } = await import('./facts/index.js');
  const file = join(directory, 'runtime/v1/api.proto');
  const before = await problems(await readDefinition(directory), real, () => Promise.resolve([/^/]));
  await writeFile(file, (await readFile(file, 'utf8')).replace('message Mount {', 'message Mount {\n    bool brand_new = 99;'));
  const after = await problems(await readDefinition(directory), real, () => Promise.resolve([/^/]));
  t.same(after.filter((line) => !before.includes(line)), ['Mount.brand_new has no facts']);
});
