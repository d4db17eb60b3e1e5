import { test } from 'tap';
import { handlerFeatures } from '../../src/runtime/handler-features.js';
import { node } from '../spec/fixtures.js';

test('network devices: what the runtime says, else whether it knows the version that brought them', (t) => {
  const told = (ociVersionMax: string | undefined, enabled?: boolean) =>
    handlerFeatures(
      { ...(ociVersionMax === undefined ? {} : { ociVersionMax }), linux: enabled === undefined ? {} : { netDevices: { enabled } } },
      node(),
    ).networkDevices;
  t.equal(told('1.3.0', true), true);
  t.equal(told('1.3.0', false), false, 'a kernel or build without them');
  t.equal(told('1.3.0'), true, 'containerd 2.1 in between');
  t.equal(told('1.4.0'), true);
  t.equal(told('2.0.0'), true);
  t.equal(told('1.2.1'), false);
  t.equal(told(undefined), false);
  t.end();
});
