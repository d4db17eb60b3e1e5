import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerConfig, DeepPartial, PodSandboxConfig } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import { compareNodeStates } from '../harness/node-state.js';
import { onEachEngine, type Test } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';

const NO_ID = 'f'.repeat(64);

/** A call that must fail, what it must say, and leave nothing. */
interface Refused {
  readonly what: string;
  readonly call: () => Promise<unknown>;
  readonly code: number;
  readonly says: RegExp;
}

await onEachEngine(
  'bad input',
  async (t, node) => {
    const { runtime, image: images } = node.cri;
    const refuse = async (t: Test, table: readonly Refused[]): Promise<void> => {
      for (const { what, call, code: expected, says } of table) {
        const before = await node.state();
        await t.rejects(call(), { code: expected, details: says }, `${what}: code ${code[expected]}, ${says}`);
        const differences = compareNodeStates(before, await node.state());
        t.strictSame(differences.length === 0 ? [] : await node.leaksSince(before), [], `${what}: leaves nothing`);
      }
    };

    await t.test('L8: ids that do not exist', async (t) => {
      await refuse(t, [
        { what: 'PodSandboxStatus', call: () => runtime.podSandboxStatus({ podSandboxId: NO_ID }, CALL), code: code.NOT_FOUND, says: /ffff/ },
        { what: 'ContainerStatus', call: () => runtime.containerStatus({ containerId: NO_ID }, CALL), code: code.NOT_FOUND, says: /ffff/ },
        { what: 'StartContainer', call: () => runtime.startContainer({ containerId: NO_ID }, CALL), code: code.NOT_FOUND, says: /ffff/ },
        { what: 'ExecSync', call: () => runtime.execSync({ containerId: NO_ID, cmd: ['true'] }, CALL), code: code.NOT_FOUND, says: /ffff/ },
        { what: 'ReopenContainerLog', call: () => runtime.reopenContainerLog({ containerId: NO_ID }, CALL), code: code.NOT_FOUND, says: /ffff/ },
        {
          what: 'CreateContainer',
          call: () =>
            runtime.createContainer(
              { podSandboxId: NO_ID, config: { metadata: { name: 'x' }, image: { image: BUSYBOX } }, sandboxConfig: TestPod.config(node) },
              CALL,
            ),
          code: code.NOT_FOUND,
          says: /ffff/,
        },
      ]);
      await t.resolves(runtime.stopPodSandbox({ podSandboxId: NO_ID }, CALL), 'StopPodSandbox succeeds');
      await t.resolves(runtime.removePodSandbox({ podSandboxId: NO_ID }, CALL), 'RemovePodSandbox succeeds');
      await t.resolves(runtime.stopContainer({ containerId: NO_ID }, CALL), 'StopContainer succeeds');
      await t.resolves(runtime.removeContainer({ containerId: NO_ID }, CALL), 'RemoveContainer succeeds');
      await t.resolves(images.removeImage({ image: { image: 'registry.k8s.io/none:1' } }, CALL), 'RemoveImage succeeds');
      t.equal((await images.imageStatus({ image: { image: 'registry.k8s.io/none:1' } }, CALL)).image, undefined, 'ImageStatus is empty');
    });

    await t.test('sandbox configurations', async (t) => {
      const run = (overrides: DeepPartial<PodSandboxConfig>) => () =>
        runtime.runPodSandbox({ config: { ...TestPod.config(node), ...overrides } }, CALL);
      await refuse(t, [
        { what: 'no configuration', call: () => runtime.runPodSandbox({}, CALL), code: code.INVALID_ARGUMENT, says: /config/ },
        { what: 'no metadata', call: run({ metadata: undefined as never }), code: code.INVALID_ARGUMENT, says: /metadata/ },
        { what: 'an empty name', call: run({ metadata: { name: '', namespace: 'e2e', uid: 'u' } }), code: code.INVALID_ARGUMENT, says: /name/ },
        {
          what: 'an unknown runtime handler',
          call: () => runtime.runPodSandbox({ config: TestPod.config(node), runtimeHandler: 'no-such' }, CALL),
          code: code.INVALID_ARGUMENT,
          says: /no-such/,
        },
        {
          what: 'a sysctl that does not exist',
          call: run({ linux: { cgroupParent: node.podCgroup(), sysctls: { 'net.ipv4.no_such_thing': '1' } } }),
          // The OCI runtime finds it out, and containerd gives its errors no code.
          code: code.UNKNOWN,
          says: /no_such_thing/,
        },
      ]);
    });

    await t.test('a name that exists', async (t) => {
      const config = TestPod.config(node);
      const { podSandboxId } = await runtime.runPodSandbox({ config }, CALL);
      t.equal((await runtime.runPodSandbox({ config }, CALL)).podSandboxId, podSandboxId, 'the same configuration returns its id');
      await refuse(t, [
        {
          what: 'another configuration',
          call: () => runtime.runPodSandbox({ config: { ...config, hostname: 'other' } }, CALL),
          code: code.ALREADY_EXISTS,
          says: new RegExp(config.metadata?.name ?? '?'),
        },
      ]);
      await runtime.removePodSandbox({ podSandboxId }, CALL);
    });

    const pod = await TestPod.run(node);
    await images.pullImage({ image: { image: BUSYBOX } }, CALL);
    const socket = node.containerd.paths.socket;
    const directory = join(node.directory, 'a-directory');
    await mkdir(directory);
    const dangling = join(node.directory, 'dangling');
    await symlink('/no/such/place/at/all', dangling);

    await t.test('container configurations', async (t) => {
      let count = 0;
      const create =
        (overrides: DeepPartial<ContainerConfig>): (() => Promise<unknown>) =>
        async () => {
          const image = overrides.image?.image ?? BUSYBOX;
          if (!image.includes('absent')) await images.pullImage({ image: { image } }, CALL);
          return runtime.createContainer(
            {
              podSandboxId: pod.id,
              config: { metadata: { name: `bad-${++count}` }, image: { image }, command: ['sleep', '1'], ...overrides },
              sandboxConfig: pod.config,
            },
            CALL,
          );
        };
      // Pulled first: an image is no leak of a container's.
      for (const name of ['no-command', 'unknown-user', 'overflowing-user']) {
        await images.pullImage({ image: { image: `e2e.criquet.test/criquet-e2e/${name}:1` } }, CALL);
      }
      const own = 'e2e.criquet.test/criquet-e2e';
      await refuse(t, [
        { what: 'no metadata', call: create({ metadata: undefined as never }), code: code.INVALID_ARGUMENT, says: /metadata/ },
        { what: 'an empty name', call: create({ metadata: { name: '' } }), code: code.INVALID_ARGUMENT, says: /name/ },
        {
          what: 'an image that is not there',
          call: create({ image: { image: 'registry.k8s.io/absent:1' } }),
          code: code.NOT_FOUND,
          says: /registry\.k8s\.io\/absent:1/,
        },
        {
          what: 'an image without a command',
          call: create({ image: { image: `${own}/no-command:1` }, command: [] }),
          code: code.INVALID_ARGUMENT,
          says: /command/,
        },
        {
          what: "a user that the image's passwd lacks",
          call: create({ image: { image: `${own}/unknown-user:1` } }),
          code: code.INVALID_ARGUMENT,
          says: /nobody-of-that-name/,
        },
        {
          what: 'X1: an image whose user overflows',
          call: create({ image: { image: `${own}/overflowing-user:1` } }),
          code: code.INVALID_ARGUMENT,
          says: /4294967296/,
        },
        {
          what: 'X1: run_as_user 2^32',
          call: create({ linux: { securityContext: { runAsUser: { value: 4_294_967_296n } } } }),
          code: code.INVALID_ARGUMENT,
          says: /4294967296/,
        },
        {
          what: 'X1: run_as_user -1',
          call: create({ linux: { securityContext: { runAsUser: { value: -1n } } } }),
          code: code.INVALID_ARGUMENT,
          says: /-1/,
        },
        {
          what: 'a group without a user',
          call: create({ linux: { securityContext: { runAsGroup: { value: 5n } } } }),
          code: code.INVALID_ARGUMENT,
          says: /user/i,
        },
        {
          what: 'X2: a seccomp profile that is not there',
          call: create({ linux: { securityContext: { seccomp: { profileType: 2, localhostRef: '/no/such/profile.json' } } } }),
          code: code.FAILED_PRECONDITION,
          says: /profile\.json/,
        },
        {
          what: 'a capability that does not exist',
          call: create({ linux: { securityContext: { capabilities: { addCapabilities: ['NO_SUCH'] } } } }),
          code: code.INVALID_ARGUMENT,
          says: /NO_SUCH/,
        },
        {
          what: 'a negative memory limit',
          call: create({ linux: { resources: { memoryLimitInBytes: -5n } } }),
          code: code.INVALID_ARGUMENT,
          says: /memory/i,
        },
        {
          what: 'a mount source that is a dangling link',
          call: create({ mounts: [{ hostPath: dangling, containerPath: '/mnt' }] }),
          code: code.FAILED_PRECONDITION,
          says: /dangling/,
        },
        {
          what: 'a mount source below a file',
          call: create({ mounts: [{ hostPath: `${join(node.directory, 'containerd.toml')}/x`, containerPath: '/mnt' }] }),
          code: code.INVALID_ARGUMENT,
          says: /containerd\.toml\/x/,
        },
        {
          what: 'a device that is none',
          call: create({ devices: [{ hostPath: socket, containerPath: '/dev/x', permissions: 'rwm' }] }),
          code: code.INVALID_ARGUMENT,
          says: /device/i,
        },
        {
          what: 'a log path that climbs out',
          call: create({ logPath: '../../../escaped.log' }),
          code: code.INVALID_ARGUMENT,
          says: /log/i,
        },
      ]);
    });

    await t.test('a name that exists in the pod', async (t) => {
      const container = await pod.create({ metadata: { name: 'twice' } });
      const again = (config: DeepPartial<ContainerConfig>) =>
        runtime.createContainer({ podSandboxId: pod.id, config, sandboxConfig: pod.config }, CALL);
      t.equal((await again(container.config)).containerId, container.id, 'the same configuration returns its id');
      await t.rejects(again({ ...container.config, command: ['true'] }), { code: code.ALREADY_EXISTS, details: /twice/ });
      await container.remove();
    });

    await t.test('a read-only rootfs with a mount point that the image lacks: made below the container, not in the image', async (t) => {
      const container = await pod.start({
        metadata: { name: 'read-only' },
        linux: { securityContext: { readonlyRootfs: true } },
        mounts: [{ hostPath: directory, containerPath: '/not/there', readonly: true }],
      });
      t.match(await container.exec(['sh', '-c', 'ls -d /not/there; touch /x 2>&1']), { stdout: /^\/not\/there\ntouch: \/x: Read-only file system/ });
      await container.remove();
    });

    await pod.remove();
  },
  { only: 'criquet', engines: 'newest' },
);
