import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { decodeSpec, type RuntimeSpec } from '@criquet/runtime-containerd';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { test, type Test } from 'tap';
import { kernelXattrs, XattrError, type Xattrs } from '../../src/runtime/xattrs.js';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

const POLICY = {
  process: 'system_u:system_r:container_t:s0',
  file: 'system_u:object_r:container_file_t:s0',
  readOnlyFile: 'system_u:object_r:container_ro_file_t:s0',
};

/** Keeps the labels, which a machine without SELinux would not take. */
class FakeLabels implements Xattrs {
  readonly written: [path: string, label: string][] = [];
  refuse: string | undefined;

  list = (path: string): Promise<string[]> => kernelXattrs.list(path);
  get = (path: string, name: string): Promise<Buffer | undefined> => (name === 'security.selinux' ? Promise.resolve(undefined) : kernelXattrs.get(path, name));

  async set(path: string, name: string, value: Uint8Array): Promise<void> {
    if (this.refuse !== undefined) throw new XattrError(path, this.refuse, 'lsetxattr');
    const descriptor = /^(\/proc\/self\/fd\/\d+)(.*)$/.exec(path);
    const shown = descriptor === null ? path : (await realpath(descriptor[1] ?? '')) + (descriptor[2] ?? '');
    this.written.push([shown, `${name}=${Buffer.from(value).toString()}`]);
  }

  /** The labels of what lies below a path, the last of each. */
  below(path: string): Record<string, string> {
    return Object.fromEntries(this.written.filter(([name]) => name === path || name.startsWith(`${path}/`)));
  }
}

async function start(t: Test): Promise<{ shim: Shim; labels: FakeLabels }> {
  const labels = new FakeLabels();
  const shim = await Shim.start({ node: { nodeFacts: { selinuxEnabled: true, selinuxContexts: POLICY }, xattrs: labels } });
  t.teardown(() => shim.close());
  return { shim, labels };
}

const spec = (shim: Shim, id: string): RuntimeSpec => decodeSpec(shim.containerd.state(NAMESPACE).containers.get(id)?.spec as never);
const level = (label = ''): string => label.split(':').slice(3).join(':');

test('a pod without a level gets two categories of its own, and its containers have them', async (t) => {
  const { shim, labels } = await start(t);
  const pod = await shim.runPod();
  const container = await shim.createContainer(pod);
  const ofPod = spec(shim, pod);
  t.match(ofPod.process?.selinuxLabel, /^system_u:system_r:container_t:s0:c\d+,c\d+$/);
  t.equal(spec(shim, container).process?.selinuxLabel, ofPod.process?.selinuxLabel);
  t.equal(spec(shim, container).linux?.mountLabel, `${POLICY.file.slice(0, -'s0'.length)}${level(ofPod.process?.selinuxLabel)}`);
  const own = await shim.createContainer(pod, { metadata: { name: 'own' }, linux: { securityContext: { selinuxOptions: { type: 'spc_t' } } } });
  t.equal(spec(shim, own).process?.selinuxLabel, `system_u:system_r:spc_t:${level(ofPod.process?.selinuxLabel)}`, 'options without a level: still the pod\'s');
  const explicit = await shim.createContainer(pod, { metadata: { name: 'explicit' }, linux: { securityContext: { selinuxOptions: { user: 'u', role: 'r', type: 't', level: 's0:c1,c2' } } } });
  t.equal(spec(shim, explicit).process?.selinuxLabel, 'u:r:t:s0:c1,c2');
  t.ok(Object.values(labels.below(shim.config.rootDir)).includes(`security.selinux=${POLICY.readOnlyFile}`), 'the pause program can be run by a container');
});

test('a pod that names its level keeps it; a privileged one has no label of its own', async (t) => {
  const { shim } = await start(t);
  const pod = await shim.runPod({ linux: { securityContext: { privileged: true, selinuxOptions: { level: 's0:c5,c6' } } } });
  t.equal(level(spec(shim, pod).linux?.mountLabel), 's0:c5,c6');
  t.equal(spec(shim, pod).process?.selinuxLabel, undefined);
  t.equal(spec(shim, await shim.createContainer(pod)).process?.selinuxLabel, 'system_u:system_r:container_t:s0:c5,c6');
  const privileged = await shim.createContainer(pod, { metadata: { name: 'p' }, linux: { securityContext: { privileged: true } } });
  t.equal(spec(shim, privileged).process?.selinuxLabel, undefined);
});

test('pods that are made at once have different levels; a level is kept over a restart', async (t) => {
  const { shim } = await start(t);
  const pods = await Promise.all([...Array(20).keys()].map((n) => shim.runPod({ metadata: { name: `p${n}`, namespace: 'ns', uid: `u${n}`, attempt: 0 } })));
  const levels = pods.map((pod) => level(spec(shim, pod).process?.selinuxLabel));
  t.equal(new Set(levels).size, pods.length);
  await shim.killAndRestart();
  const container = await shim.createContainer(pods[0] ?? '');
  t.equal(level(spec(shim, container).process?.selinuxLabel), levels[0]);
});

test('Mount.selinux_relabel: what is mounted gets the container\'s label, and so do the pod\'s files; links are not followed', async (t) => {
  const { shim, labels } = await start(t);
  const dir = await realpath(shim.dir);
  const [yes, no, outside] = ['yes', 'no', 'outside'].map((name) => join(dir, name)) as [string, string, string];
  await mkdir(join(yes, 'sub'), { recursive: true });
  await writeFile(join(yes, 'sub/file'), '');
  await mkdir(no);
  await mkdir(outside);
  await writeFile(join(outside, 'file'), '');
  await symlink(outside, join(yes, 'link'));
  const pod = await shim.runPod();
  labels.written.length = 0;
  const container = await shim.createContainer(pod, {
    mounts: [
      { hostPath: yes, containerPath: '/yes', selinuxRelabel: true },
      { hostPath: no, containerPath: '/no' },
    ],
  });
  const label = `security.selinux=${spec(shim, container).linux?.mountLabel}`;
  t.same(labels.below(yes), { [yes]: label, [join(yes, 'sub')]: label, [join(yes, 'sub/file')]: label, [join(yes, 'link')]: label });
  t.equal(labels.written.filter(([path]) => path === yes || path.startsWith(`${yes}/`)).at(-1)?.[0], yes, 'the mount itself comes last');
  t.same(labels.below(no), {});
  t.same(labels.below(outside), {});
  const ofPod = labels.below(join(await realpath(shim.config.rootDir), 'sandboxes', pod));
  t.same(new Set(Object.values(ofPod)), new Set([label]));
  t.equal(Object.keys(ofPod).length, 3);
  t.match(labels.below(join(await realpath(shim.config.stateDir), 'sandboxes', pod, 'shm')), { [join(dir, 'state/sandboxes', pod, 'shm')]: label });
});

test('Mount.selinux_relabel of a directory that the node lives in is refused, and nothing is left', async (t) => {
  const { shim, labels } = await start(t);
  const pod = await shim.runPod();
  const before = await shim.leftovers();
  labels.written.length = 0;
  for (const hostPath of ['/etc', '/', '/usr/', '/var/lib']) {
    await t.rejects(shim.createContainer(pod, { mounts: [{ hostPath, containerPath: '/m', selinuxRelabel: true }] }), {
      code: status.INVALID_ARGUMENT,
      details: /config\.mounts\[0\]\.selinux_relabel: /,
    });
  }
  t.same(labels.written, []);
  t.same(await shim.leftovers(), before);
});

test('a file system without labels is fine, any other failure is an error and leaves nothing', async (t) => {
  const { shim, labels } = await start(t);
  const pod = await shim.runPod();
  const before = await shim.leftovers();
  labels.refuse = 'EPERM';
  await t.rejects(shim.createContainer(pod), { code: status.INTERNAL, details: /^label the mounts: .*EPERM/ });
  t.same(await shim.leftovers(), before);
  labels.refuse = 'ENOTSUP';
  t.match(await shim.createContainer(pod), /^[0-9a-f]{64}$/);
});

test('the volumes of an image have the container\'s label', async (t) => {
  const { shim, labels } = await start(t);
  shim.containerd.addImage(NAMESPACE, 'registry.test/v:1', fakeImage({ config: { Cmd: ['x'], Volumes: { '/data': {} } }, files: { 'data/a': '' } }));
  await eventually(async () => {
    if ((await shim.cri.image.listImages({})).images.length < 2) throw new Error('images');
  });
  const container = await shim.createContainer(await shim.runPod(), { image: { image: 'registry.test/v:1' } });
  const label = `security.selinux=${spec(shim, container).linux?.mountLabel}`;
  const volume = join(await realpath(shim.config.rootDir), 'volumes', container, '0');
  t.same(labels.below(volume), { [volume]: label, [join(volume, 'a')]: label });
});

test('where SELinux is off nothing is labelled', async (t) => {
  const labels = new FakeLabels();
  const shim = await Shim.start({ node: { nodeFacts: { selinuxEnabled: false }, xattrs: labels } });
  t.teardown(() => shim.close());
  const pod = await shim.runPod({ linux: { securityContext: { selinuxOptions: { type: 't', level: 's0:c1,c2' } } } });
  const hostPath = join(shim.dir, 'm');
  const container = await shim.createContainer(pod, { mounts: [{ hostPath, containerPath: '/m', selinuxRelabel: true }] });
  t.equal(spec(shim, container).process?.selinuxLabel, undefined);
  t.equal(spec(shim, container).linux?.mountLabel, undefined);
  t.same(labels.written, []);
});
