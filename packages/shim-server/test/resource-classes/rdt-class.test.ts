import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { rdtClass } from '../../src/resource-classes/rdt-class.js';
import { errorOf } from '../spec/fixtures.js';

const strict = { ignoreNotEnabled: false };
const container = (annotations: Record<string, string>, podAnnotations: Record<string, string> = {}) => ({ name: 'app', annotations, podAnnotations });
const asking = (name: string) => container({ 'io.kubernetes.cri.rdt-class': name });

void t.test('RDT: the word nearest to the container counts', async (t) => {
  const resctrl = t.testdir({ schemata: '', own: { schemata: '' }, forContainer: { schemata: '' }, forPod: { schemata: '' } });
  const pod = { 'rdt.resources.beta.kubernetes.io/pod': 'forPod' };
  const both = { ...pod, 'rdt.resources.beta.kubernetes.io/container.app': 'forContainer' };
  const find = (...args: Parameters<typeof container>) => rdtClass(container(...args), strict, resctrl);
  t.equal(await find({ 'io.kubernetes.cri.rdt-class': 'own' }, both), 'own');
  t.equal(await find({}, both), 'forContainer');
  t.equal(await find({}, { ...pod, 'rdt.resources.beta.kubernetes.io/container.other': 'own' }), 'forPod');
  t.equal(await find({}, {}), undefined);
  t.equal(await rdtClass(asking('system/default'), strict, resctrl), '/', 'the root class');
});

void t.test('RDT: errors', async (t) => {
  const resctrl = t.testdir({ schemata: '', 'no-class': {} });
  const none = join(resctrl, 'none');
  const disabled = await errorOf(() => rdtClass(asking('gold'), strict, none));
  t.equal(disabled.code, status.FAILED_PRECONDITION);
  t.match(disabled.message, /RDT class "gold": RDT is not enabled/);
  t.equal(await rdtClass(asking('gold'), { ignoreNotEnabled: true }, none), undefined);
  for (const options of [strict, { ignoreNotEnabled: true }]) {
    t.match((await errorOf(() => rdtClass(asking('gold'), options, resctrl))).message, /"gold" does not exist/);
  }
  t.match((await errorOf(() => rdtClass(asking('no-class'), strict, resctrl))).message, /does not exist/);
  for (const name of ['../x', '.', '..', 'a\nb']) t.equal((await errorOf(() => rdtClass(asking(name), strict, resctrl))).code, status.INVALID_ARGUMENT, name);
});
