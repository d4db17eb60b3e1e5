import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { SecurityProfile_ProfileType as ProfileType, type ContainerConfig, type DeepPartial, type LinuxContainerSecurityContext } from '@criquet/cri-api';
import { test, type Test } from 'tap';
import { recordedSpec } from './recorded-spec.js';
import { Shim } from './shim-harness.js';

// What a container's configuration asks for, field by field; docs/cri-support.md names these tests.

type NodeFactsOfTest = NonNullable<NonNullable<NonNullable<Parameters<typeof Shim.start>[0]>['node']>['nodeFacts']>;

/** A node with one ready pod, and the specs of containers made in it. */
class Pod {
  private made = 0;

  private constructor(
    readonly shim: Shim,
    readonly id: string,
  ) {}

  static async start(t: Test, nodeFacts: NodeFactsOfTest = {}, privileged = false): Promise<Pod> {
    const shim = await Shim.start({ node: { nodeFacts } });
    t.teardown(() => shim.close());
    return new Pod(shim, await shim.runPod({ linux: { securityContext: { privileged } } }));
  }

  async container(change: DeepPartial<ContainerConfig>) {
    const id = await this.shim.createContainer(this.id, { metadata: { name: `c${this.made++}`, attempt: 0 }, ...change });
    return recordedSpec(this.shim, id);
  }

  secured(securityContext: DeepPartial<LinuxContainerSecurityContext>) {
    return this.container({ linux: { securityContext } });
  }
}

test('CreateContainer: the process: command, arguments, directory, environment, terminal', async (t) => {
  const pod = await Pod.start(t);
  t.match((await pod.container({})).process, { args: ['/app'], cwd: '/' });
  t.match((await pod.container({ args: ['-v'] })).process?.args, ['-v']);
  const own = await pod.container({ command: ['/bin/x'], args: ['1'], workingDir: '/w', envs: [{ key: 'FROM', value: Buffer.from('config') }], tty: true });
  t.match(own.process, { args: ['/bin/x', '1'], cwd: '/w', terminal: true });
  t.same(own.process?.env?.filter((entry) => entry.startsWith('FROM=')), ['FROM=config']);
});

test('CreateContainer: metadata, labels, annotations, image and log path come back in status and list', async (t) => {
  const pod = await Pod.start(t);
  const { runtime } = pod.shim.cri;
  const metadata = { name: 'app', attempt: 4 };
  const image = { image: pod.shim.image.id, userSpecifiedImage: 'app:latest' };
  const containerId = await pod.shim.createContainer(pod.id, { metadata, image, labels: { a: 'b' }, annotations: { c: 'd' }, logPath: 'deep/4.log' });
  const { status: container } = await runtime.containerStatus({ containerId });
  t.match(container, {
    id: containerId, metadata, labels: { a: 'b' }, annotations: { c: 'd' }, logPath: join(pod.shim.dir, 'logs/deep/4.log'),
    image: { userSpecifiedImage: 'app:latest' }, imageId: pod.shim.image.id,
  });
  t.match(container?.imageRef, /@sha256:/);
  const { containers } = await runtime.listContainers({});
  t.match(containers, [{
    id: containerId, podSandboxId: pod.id, metadata, labels: { a: 'b' }, annotations: { c: 'd' }, state: 0, createdAt: container?.createdAt,
    image, imageRef: pod.shim.image.id, imageId: pod.shim.image.id,
  }]);
  t.match(recordedSpec(pod.shim, containerId).annotations, { 'io.kubernetes.cri.container-name': 'app' });
});

test('CreateContainer: devices: path on the node, path inside, permissions', async (t) => {
  const pod = await Pod.start(t);
  const link = join(pod.shim.dir, 'link');
  await symlink('/dev/zero', link);
  const { linux } = await pod.container({ devices: [{ hostPath: link, containerPath: '/dev/nothing', permissions: 'r' }] });
  t.match(linux?.devices, [{ path: '/dev/nothing', type: 'c', major: 1, minor: 5 }]);
  t.same(linux?.resources?.devices?.at(-1), { allow: true, type: 'c', major: 1, minor: 5, access: 'r' });
});

test('CreateContainer: privileged: everything the node has, nothing masked, only in a privileged pod', async (t) => {
  const pod = await Pod.start(t, { seccompEnabled: true, capabilities: ['CAP_CHOWN', 'CAP_SYS_ADMIN'] }, true);
  const spec = await pod.secured({ privileged: true, maskedPaths: ['/proc/kcore'], seccomp: { profileType: ProfileType.RuntimeDefault } });
  t.same(spec.process?.capabilities?.bounding, ['CAP_CHOWN', 'CAP_SYS_ADMIN']);
  t.same(spec.linux?.maskedPaths, []);
  t.equal(spec.linux?.seccomp, undefined);
  const plain = await Pod.start(t);
  await t.rejects(plain.secured({ privileged: true }), { code: status.INVALID_ARGUMENT, details: /security_context\.privileged/ });
});

test('CreateContainer: SELinux options of the container, else those of the pod', async (t) => {
  const pod = await Pod.start(t, { selinuxEnabled: true });
  const spec = await pod.secured({ selinuxOptions: { user: 'u_u', role: 'r_r', type: 't_t', level: 's0:c1,c2' } });
  t.equal(spec.process?.selinuxLabel, 'u_u:r_r:t_t:s0:c1,c2');
  t.match(spec.linux?.mountLabel, /^u_u:.*:s0:c1,c2$/);
});

test('CreateContainer: the pod is the one that is named, and its configuration is the one it was made with', async (t) => {
  const pod = await Pod.start(t);
  const other = await pod.shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'uid-2', attempt: 0 }, linux: { cgroupParent: '/real' } });
  const request = { podSandboxId: other, config: pod.shim.containerConfig(), sandboxConfig: pod.shim.sandboxConfig({ linux: { cgroupParent: '/other' } }) };
  const { containerId } = await pod.shim.cri.runtime.createContainer(request);
  t.equal(recordedSpec(pod.shim, containerId).linux?.cgroupsPath, `/real/${containerId}`);
});
