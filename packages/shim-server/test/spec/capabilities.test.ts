import { status } from '@grpc/grpc-js';
import t from 'tap';
import { buildCapabilities, DEFAULT_CAPABILITIES } from '../../src/spec/capabilities.js';
import { CAPABILITY_NAMES, decodeCapabilities } from '../../src/spec/capability-names.js';
import { errorOf } from './fixtures.js';

const everything = { privileged: false, node: { capabilities: CAPABILITY_NAMES } };
const request = (add: string[], drop: string[], ambient: string[] = []) => ({
  addCapabilities: add,
  dropCapabilities: drop,
  addAmbientCapabilities: ambient,
});

void t.test(
  'without a request: the default set, effective, permitted and bounding; nothing inheritable or ambient',
  (t) => {
    const sets = buildCapabilities(undefined, everything);
    t.same(sets, {
      bounding: DEFAULT_CAPABILITIES,
      effective: DEFAULT_CAPABILITIES,
      permitted: DEFAULT_CAPABILITIES,
    });
    t.equal(DEFAULT_CAPABILITIES.length, 14);
    t.end();
  },
);

void t.test('add and drop, with and without CAP_, in either case', (t) => {
  const { bounding } = buildCapabilities(request(['net_admin', 'CAP_SYS_TIME'], ['chown', 'CAP_KILL']), everything);
  t.ok(bounding?.includes('CAP_NET_ADMIN'));
  t.ok(bounding?.includes('CAP_SYS_TIME'));
  t.notOk(bounding?.includes('CAP_CHOWN'));
  t.notOk(bounding?.includes('CAP_KILL'));
  t.end();
});

void t.test('ALL comes first, single names after it', (t) => {
  const addAll = buildCapabilities(request(['ALL'], ['CHOWN']), everything).bounding;
  t.equal(addAll?.length, CAPABILITY_NAMES.length - 1);
  t.notOk(addAll?.includes('CAP_CHOWN'));
  t.same(buildCapabilities(request(['NET_BIND_SERVICE'], ['all']), everything).bounding, ['CAP_NET_BIND_SERVICE']);
  t.same(buildCapabilities(request(['all'], ['all']), everything).bounding, []);
  t.end();
});

void t.test('never more than the node has', async (t) => {
  const poor = { privileged: false, node: { capabilities: ['CAP_CHOWN', 'CAP_KILL'] } };
  t.same(buildCapabilities(undefined, poor).bounding, ['CAP_CHOWN', 'CAP_KILL']);
  t.same(buildCapabilities(request(['ALL'], []), poor).bounding, ['CAP_CHOWN', 'CAP_KILL']);
  t.same(buildCapabilities(undefined, { ...poor, privileged: true }).bounding, ['CAP_CHOWN', 'CAP_KILL']);
  const error = await errorOf(() => buildCapabilities(request(['NET_ADMIN'], []), poor));
  t.equal(error.code, status.FAILED_PRECONDITION);
  t.match(error.message, /CAP_NET_ADMIN/);
});

void t.test('a name that is no capability is refused on both lists', async (t) => {
  const add = await errorOf(() => buildCapabilities(request(['NET_ADMINN'], []), everything));
  t.equal(add.code, status.INVALID_ARGUMENT);
  t.match(add.message, /add_capabilities: "NET_ADMINN"/);
  t.match(
    (await errorOf(() => buildCapabilities(request([], ['FOO']), everything))).message,
    /drop_capabilities: "FOO"/,
  );
});

void t.test('privileged has all of the node whatever it drops', (t) => {
  t.same(buildCapabilities(request([], ['ALL']), { ...everything, privileged: true }).effective, CAPABILITY_NAMES);
  t.end();
});

void t.test('X6 ambient capabilities: none by add alone, kept on request', (t) => {
  const dropAll = buildCapabilities(request(['NET_BIND_SERVICE'], ['ALL']), everything);
  t.equal(dropAll.ambient, undefined);
  t.equal(dropAll.inheritable, undefined);
  const optIn = buildCapabilities(request([], ['ALL'], ['NET_BIND_SERVICE']), everything);
  t.same(optIn, {
    bounding: ['CAP_NET_BIND_SERVICE'],
    effective: ['CAP_NET_BIND_SERVICE'],
    permitted: ['CAP_NET_BIND_SERVICE'],
    inheritable: ['CAP_NET_BIND_SERVICE'],
    ambient: ['CAP_NET_BIND_SERVICE'],
  });
  t.end();
});

void t.test('X6 ambient capabilities: by configuration, what is added is ambient', (t) => {
  const ambient = { ...everything, ambient: true };
  const sets = buildCapabilities(request(['NET_BIND_SERVICE', 'KILL'], ['ALL', 'KILL']), ambient);
  t.same(sets.ambient, ['CAP_NET_BIND_SERVICE'], 'not what is dropped again');
  t.same(sets.inheritable, ['CAP_NET_BIND_SERVICE']);
  t.equal(buildCapabilities(undefined, ambient).ambient, undefined, 'the default set is not added');
  t.same(buildCapabilities(request(['ALL'], ['CHOWN']), ambient).ambient?.length, CAPABILITY_NAMES.length - 1);
  t.same(buildCapabilities(request(['KILL'], ['ALL'], ['NET_RAW']), ambient).ambient?.sort(), ['CAP_KILL', 'CAP_NET_RAW']);
  t.end();
});

void t.test('masks of /proc/<pid>/status', (t) => {
  t.same(decodeCapabilities('0000000000000000'), []);
  t.same(decodeCapabilities('0000000000000021'), ['CAP_CHOWN', 'CAP_KILL']);
  t.equal(decodeCapabilities('000001fffeffffff').length, 40, 'bit 24 is CAP_SYS_RESOURCE');
  t.notOk(decodeCapabilities('000001fffeffffff').includes('CAP_SYS_RESOURCE'));
  t.end();
});
