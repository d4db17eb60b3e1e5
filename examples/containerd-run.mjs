// Pulls an image and runs one container of it through containerd, without Docker or nerdctl, then removes every trace of the container.
//
//   node examples/containerd-run.mjs [--address SOCKET] [--namespace NAME] [--snapshotter NAME] [--hosts-dir DIR] IMAGE [-- COMMAND...]
//
//   sudo node examples/containerd-run.mjs docker.io/library/busybox:1.36 -- sh -c 'echo hello from $(hostname)'
//
// Needs containerd 2.1 or newer, root and a build (`pnpm install && pnpm build`).
// In a project of your own, import '@criquet/runtime-containerd' instead of using load().

import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { load } from './load.mjs';

const { checkContainerd, connectContainerd, encodeSpec, isTaskGone, resolveImage, TaskIo } = await load('runtime-containerd');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    address: { type: 'string', default: '/run/containerd/containerd.sock' },
    namespace: { type: 'string', default: 'example' },
    snapshotter: { type: 'string', default: 'overlayfs' },
    'hosts-dir': { type: 'string', default: '' },
  },
});
const [image, ...command] = positionals;
if (image === undefined) {
  console.error('usage: containerd-run.mjs [--address SOCKET] [--namespace NAME] [--snapshotter NAME] [--hosts-dir DIR] IMAGE [-- COMMAND...]');
  process.exit(2);
}

const { namespace, snapshotter } = values;
const client = connectContainerd({ address: values.address, namespace });
const id = `example-${randomUUID()}`;
// What is to be undone, last first.
const undo = [];

try {
  const { version } = await checkContainerd(client, { snapshotter });
  console.error(`containerd ${version}`);

  // The lease holds what the pull brings until the image's record does.
  await client.leases.create({ id });
  undo.push(() => client.leases.delete(id));
  const started = Date.now();
  await client.transfer.pullImage({
    reference: image,
    snapshotter,
    hostDir: values['hosts-dir'],
    lease: id,
    onProgress: ({ event, name }) => event === 'saved' && console.error(`pulled ${name} in ${Date.now() - started} ms`),
    noProgressTimeoutMs: 60_000,
  });
  const { target } = await client.images.get(image);
  const { config, chainId } = await resolveImage(client.content, target);

  const rootfs = await client.snapshots.prepare(snapshotter, id, chainId, { lease: id });
  undo.push(() => client.snapshots.remove(snapshotter, id));
  const { Env = [], Entrypoint, Cmd, WorkingDir } = config.config ?? {};
  const args = command.length > 0 ? command : [...(Entrypoint ?? []), ...(Cmd ?? [])];
  await client.containers.create({
    id,
    image,
    runtime: { name: 'io.containerd.runc.v2' },
    snapshotter,
    snapshotKey: id,
    spec: encodeSpec(minimalSpec(args, Env ?? [], WorkingDir || '/')),
  });
  undo.push(() => client.containers.delete(id));

  const io = await TaskIo.create(join(tmpdir(), id), { stdin: false, terminal: false });
  undo.push(() => io.remove());
  const readers = [
    io.openOutput('stdout', { data: (chunk) => void process.stdout.write(Buffer.from(chunk)), end: () => undefined }),
    io.openOutput('stderr', { data: (chunk) => void process.stderr.write(Buffer.from(chunk)), end: () => undefined }),
  ];
  undo.push(() => readers.forEach((reader) => reader.close()));

  await client.tasks.create({ containerId: id, rootfs, ...io.paths, terminal: false });
  undo.push(() => client.tasks.delete(id).catch((error) => isTaskGone(error) || Promise.reject(error)));
  const exit = client.tasks.wait(id);
  await client.tasks.start(id);
  process.once('SIGINT', () => void client.tasks.kill(id, { signal: 9 }).catch(() => undefined));
  const { exitStatus } = await exit;
  await Promise.all(readers.map((reader) => reader.ended));
  console.error(`exit status ${exitStatus}`);
  process.exitCode = exitStatus;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  for (const step of undo.reverse()) {
    await Promise.resolve(step()).catch((error) => console.error(`clean-up: ${error.message}`));
  }
  client.close();
}

/** The least that runc wants for a shell to feel at home: no network, new namespaces, proc, dev and sys. */
function minimalSpec(args, env, cwd) {
  return {
    ociVersion: '1.2.0',
    process: { user: { uid: 0, gid: 0 }, args, env: [...env, 'HOME=/root'], cwd, noNewPrivileges: true },
    root: { path: 'rootfs', readonly: false },
    hostname: 'example',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'strictatime', 'mode=755', 'size=65536k'] },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
    ],
    linux: {
      cgroupsPath: `/${id}`,
      namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
    },
  };
}
