import t from 'tap';
import { kubernetesCniArgs } from '../../src/index.js';
import { cniArgsFault, formatCniArgs } from '../../src/attachment/cni-args.js';
import { containerIdFault, interfaceNameFault, networkNameFault } from '../../src/attachment/validate-names.js';

t.test('container ids and network names by the specification', async (t) => {
  for (const fault of [containerIdFault, networkNameFault]) {
    for (const good of ['a', '0', 'a'.repeat(64), 'A_b.c-d']) t.equal(fault(good), undefined, good);
    for (const bad of ['', '-a', '.a', '_a', 'a/b', 'a b', 'ä', 'a\n', '../a']) t.type(fault(bad), 'string', bad);
  }
});

t.test('interface names by the kernel', async (t) => {
  for (const good of ['eth0', 'a', 'a'.repeat(15), 'veth-1.2_3', '@']) t.equal(interfaceNameFault(good), undefined, good);
  for (const bad of ['', '.', '..', 'a'.repeat(16), 'ääääääää', 'a/b', 'a:b', 'a b', 'a\t', 'a\0']) t.type(interfaceNameFault(bad), 'string', bad);
});

t.test('CNI_ARGS of a pod', async (t) => {
  const pod = { namespace: 'default', name: 'web-0', uid: '1234', sandboxId: 'abcd' };
  t.equal(
    formatCniArgs(kubernetesCniArgs(pod)),
    'IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_INFRA_CONTAINER_ID=abcd;K8S_POD_UID=1234',
  );
  for (const name of ['a;K8S_POD_NAMESPACE=kube-system', 'a=b', 'a\0']) {
    t.throws(() => kubernetesCniArgs({ ...pod, name }), { name: 'TypeError', message: /K8S_POD_NAME/ });
  }
  t.match(cniArgsFault([['', 'x']]), /invalid key/);
  t.match(cniArgsFault([['a=b', 'x']]), /invalid key/);
  t.equal(cniArgsFault([]), undefined);
});
