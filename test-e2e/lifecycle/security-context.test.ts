import { readlink } from 'node:fs/promises';
import { NamespaceMode, SecurityProfile_ProfileType as ProfileType, SupplementalGroupsPolicy, type ContainerConfig, type DeepPartial } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { TestPod, type TestContainer } from '../harness/pods.js';

type Context = NonNullable<NonNullable<DeepPartial<ContainerConfig>['linux']>['securityContext']>;

/** Its /etc/group names the user 1000 in the group 50000. */
const GROUPS_IMAGE = 'registry.k8s.io/k8s-staging-cri-tools/test-image-predefined-group:latest';

await onEachEngine('security context', async (t, node) => {
  const pod = await TestPod.run(node);
  const lines = async (container: TestContainer) => (await container.log()).map(({ text }) => text);
  /** What a script prints that runs to its end in a container of its own. */
  const print = async (script: string, securityContext: Context, more: DeepPartial<ContainerConfig> = {}, on = pod) => {
    const container = await on.script(script, { linux: { securityContext }, ...more });
    const printed = await lines(container);
    await container.remove();
    return printed;
  };
  const numbers = (line = '') => line.trim().split(/\s+/).map(Number).sort((a, b) => a - b);

  await t.test('X1: the greatest uid is exactly that one', async (t) => {
    t.same(await print('id -u; id -g', { runAsUser: { value: 2147483647n }, runAsGroup: { value: 2147483646n } }), ['2147483647', '2147483646']);
    await t.rejects(pod.create({ linux: { securityContext: { runAsUser: { value: 2n ** 31n } } } }), { code: code.INVALID_ARGUMENT });
  });

  await t.test('X3: privileged is unconfined whatever the seccomp profile; otherwise the filter is there', async (t) => {
    const mode = (context: Context, on = pod) => print('grep ^Seccomp: /proc/self/status | cut -f2', context, {}, on);
    t.same(await mode({ seccomp: { profileType: ProfileType.RuntimeDefault } }), ['2']);
    t.same(await mode({ seccomp: { profileType: ProfileType.Unconfined } }), ['0']);
    const privileged = await TestPod.run(node, { linux: { cgroupParent: `/${node.cgroupParent}`, securityContext: { privileged: true } } });
    for (const seccomp of [undefined, ...[ProfileType.RuntimeDefault, ProfileType.Unconfined].map((profileType) => ({ profileType }))]) {
      t.same(await mode({ privileged: true, ...(seccomp && { seccomp }) }, privileged), ['0']);
    }
    await privileged.remove();
  });

  await t.test('X4: PATH and HOME without a word of the image, for the command and for exec', async (t) => {
    const container = await pod.start({ command: ['sh', '-c', 'sleep 3600'] });
    const { stdout } = await container.exec(['sh', '-c', 'echo $PATH $HOME $(pwd)']);
    t.equal(stdout, '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /root /\n');
    const entry = await pod.start({ image: { image: 'e2e.criquet.test/criquet-e2e/entrypoint:1' }, command: ['sleep'], args: ['3600'] });
    t.match(await entry.exec(['sh', '-c', 'echo $FROM_IMAGE in $(pwd)']), { stdout: 'yes in /var/www\n' });
    await Promise.all([container.remove(), entry.remove()]);
  });

  await t.test('X5: groups of the image with Merge, those of CRI with Strict; the status says what the process has', async (t) => {
    const check = async (policy: SupplementalGroupsPolicy, groups: number[]) => {
      const securityContext = { runAsUser: { value: 1000n }, supplementalGroups: [1234n], supplementalGroupsPolicy: policy };
      const container = await pod.script('id -G', { image: { image: GROUPS_IMAGE }, linux: { securityContext } });
      t.same(numbers((await lines(container))[0]), groups);
      const { user } = await container.status();
      t.match(user?.linux, { uid: 1000n, gid: 1000n, supplementalGroups: groups.map(BigInt) });
      await container.remove();
    };
    await check(SupplementalGroupsPolicy.Merge, [1000, 1234, 50000]);
    await check(SupplementalGroupsPolicy.Strict, [1000, 1234]);
  });

  await t.test('X6: an added capability of a user that is not root is within reach only, unless it is ambient', async (t) => {
    const mask = (1 << 10).toString(16).padStart(16, '0');
    const none = '0'.repeat(16);
    const sets = (capabilities: NonNullable<Context['capabilities']>) =>
      print("grep -E '^Cap(Eff|Bnd|Amb)' /proc/self/status | cut -f2", { runAsUser: { value: 1000n }, capabilities: { dropCapabilities: ['ALL'], ...capabilities } });
    t.same(await sets({ addCapabilities: ['NET_BIND_SERVICE'] }), [none, mask, none]);
    t.same(await sets({ addAmbientCapabilities: ['NET_BIND_SERVICE'] }), [mask, mask, mask]);
  });

  await t.test('no_new_privs', async (t) => {
    const nnp = (noNewPrivs: boolean) => print('grep ^NoNewPrivs /proc/self/status | cut -f2', { noNewPrivs });
    t.same([await nnp(true), await nnp(false)], [['1'], ['0']]);
  });

  await t.test("PID namespaces: the pod's, its own, another container's, the node's", async (t) => {
    const namespace = (context: Context, on = pod) => print('readlink /proc/self/ns/pid', context, {}, on);
    const pid = (mode: NamespaceMode, targetId = '') => ({ namespaceOptions: { pid: mode, targetId } });
    const ofPod = await namespace(pid(NamespaceMode.POD));
    t.same(await namespace(pid(NamespaceMode.POD)), ofPod);
    t.not((await namespace(pid(NamespaceMode.CONTAINER)))[0], ofPod[0]);
    const target = await pod.start({ linux: { securityContext: pid(NamespaceMode.CONTAINER) } });
    const ofTarget = (await target.exec(['readlink', '/proc/self/ns/pid'])).stdout.trim();
    t.same(await print('readlink /proc/self/ns/pid; cat /proc/1/cmdline | tr "\\0" " "', pid(NamespaceMode.TARGET, target.id)), [ofTarget, 'sleep 3600 ']);
    const late = await pod.create({ linux: { securityContext: pid(NamespaceMode.TARGET, target.id) } });
    await target.stop();
    await t.rejects(pod.create({ linux: { securityContext: pid(NamespaceMode.TARGET, target.id) } }), { code: code.FAILED_PRECONDITION });
    await t.rejects(node.cri.runtime.startContainer({ containerId: late.id }), { code: code.FAILED_PRECONDITION, details: /target_id/ });
    const namespaceOptions = { pid: NamespaceMode.NODE, ipc: NamespaceMode.NODE };
    const onNode = await TestPod.run(node, { linux: { cgroupParent: `/${node.cgroupParent}`, securityContext: { namespaceOptions } } });
    t.same(await namespace({ namespaceOptions }, onNode), [await readlink('/proc/self/ns/pid')]);
    t.same(await print('readlink /proc/self/ns/ipc', { namespaceOptions }, {}, onNode), [await readlink('/proc/self/ns/ipc')]);
    t.not((await print('readlink /proc/self/ns/ipc', {}))[0], await readlink('/proc/self/ns/ipc'));
    await onNode.remove();
  });

  await t.test('R6: /dev/shm is 64 MiB, 1777, nosuid, nodev, noexec, and the same for two containers', async (t) => {
    const [size, mode, mount] = await print("df -k /dev/shm | tail -1 | awk '{print $2}'; stat -c %a /dev/shm; grep ' /dev/shm ' /proc/mounts", {});
    t.equal(size, String(64 * 1024));
    t.equal(mode, '1777');
    const options = mount?.split(' ')[3]?.split(',') ?? [];
    for (const option of ['rw', 'nosuid', 'nodev', 'noexec']) t.ok(options.includes(option), `${option} in ${mount}`);
    await print('echo from the first >/dev/shm/x', {});
    t.same(await print('cat /dev/shm/x', { runAsUser: { value: 1000n } }), ['from the first']);
  });

  await pod.remove();
}, { only: 'criquet', engines: 'newest' });
