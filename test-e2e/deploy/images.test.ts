/*
 * The Dockerfiles of deploy/, carried out in root directories of Debian packages: no container engine is needed, and none of kind's images. What is
 * asserted is what kind does with a node (kind 0.33: images/base/files/usr/local/bin/entrypoint, pkg/cluster/nodeutils).
 */
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { enginesUnderTest, readEnvironment } from '../harness/environment.js';
import { run } from '../harness/run.js';
import { layOutKindBase } from './kind-base.js';
import { buildRoot, inRoot, listRoot } from './root-build.js';

const environment = readEnvironment();
const { checkout } = environment;
const debian = process.env.CRIQUET_E2E_DEBIAN_ROOT;
const CRI_PLUGINS = ['io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime', 'io.containerd.grpc.v1.cri'];
const NODE_IMAGE = 'node:test';
const KINDEST_NODE = 'kindest/node:test';
const CRIQUET_IMAGE = 'criquet:test';

if (debian === undefined || debian === '') {
  t.comment('CRIQUET_E2E_DEBIAN_ROOT is not set: scripts/test provides it, scripts/lib/debian-root.sh by hand');
  t.plan(0, 'no root directory of Debian packages');
} else {
  const directory = await mkdtemp(join(environment.root, 'criquet-images-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));

  /** What a command prints in a root; it must succeed. */
  const output = async (root: string, command: string): Promise<string> => {
    const { code, stdout, stderr } = await inRoot(root, command);
    if (code !== 0) throw new Error(`${command}: ${stderr || stdout}`);
    return stdout;
  };

  await run(join(checkout, 'scripts', 'release-tree'), [join(directory, 'context', 'criquet')], { timeoutMs: 180_000 });
  const nodeImage = join(directory, 'node-image');
  await run('cp', ['-a', '--reflink=auto', debian, nodeImage]);
  await mkdir(join(nodeImage, 'usr/local/bin'), { recursive: true });
  await copyFile(process.execPath, join(nodeImage, 'usr/local/bin/node'));

  const criquetImage = await buildRoot({
    dockerfile: join(checkout, 'deploy/image/Dockerfile'),
    context: join(directory, 'context'),
    args: { NODE_IMAGE },
    images: { [NODE_IMAGE]: nodeImage },
    directory: join(directory),
  });

  await t.test("criquet's image", async (t) => {
    t.match(await output(criquetImage, '/opt/criquet/bin/criquet --version'), /^criquet \d/);
    await rm(join(criquetImage, 'usr/local/bin/node'));
    t.match(await output(criquetImage, '/opt/criquet/bin/criquet --version'), /^criquet \d/, 'by the Node.js that it brings');
    t.match((await inRoot(criquetImage, '/opt/criquet/libexec/criquet-pod')).stderr, /criquet-pod switch/);
  });

  // On the newest alone: what the two differ in, for this, is in node-scripts.test.ts.
  for (const engine of enginesUnderTest(environment).slice(-1)) {
    await t.test(`the kind node's image (containerd ${engine})`, async (t) => {
      const work = join(directory, engine);
      await mkdir(work);
      const base = join(work, 'base');
      await layOutKindBase(debian, base, environment, engine);
      let copied = new Map<string, string>();
      const build = (directory: string, from = base): Promise<string> =>
        buildRoot({
          dockerfile: join(checkout, 'deploy/kind/Dockerfile'),
          context: join(checkout, 'deploy/kind'),
          args: { CRIQUET_IMAGE, KINDEST_NODE },
          images: { [CRIQUET_IMAGE]: criquetImage, [KINDEST_NODE]: from },
          directory,
          beforeRun: async (root) => {
            copied = await listRoot(root);
          },
        });
      const root = await build(work);

      await t.test('criquet runs there, and its configuration is good', async (t) => {
        t.match(await output(root, 'criquet --version'), /^criquet \d/);
        t.match(await output(root, 'criquet config check'), '/etc/criquet/config.toml: ok');
        const config = await output(root, 'criquet config dump');
        for (const line of ['namespace = "k8s.io"', 'address = "unix:///run/containerd/containerd.sock"', 'base_runtime_spec = "/etc/containerd/cri-base.json"', 'systemd_cgroup = true', 'conf_dir = "/etc/cni/net.d"']) {
          t.match(config, line);
        }
        t.match(config, '[runtime.handlers.test-handler]');
      });

      await t.test("containerd takes its configuration: the CRI plugin is off, and `kind load` finds the snapshotter", async (t) => {
        const dump = await output(root, 'containerd config dump');
        const disabled = /^disabled_plugins = \[(.*)\]/m.exec(dump)?.[1] ?? '';
        for (const plugin of CRI_PLUGINS) t.match(disabled, plugin);
        t.match(dump, /^version = [34]$/m);
        t.equal(/\[plugins\.'io\.containerd\.cri\.v1\.images'\]\s+snapshotter = '(.*)'/.exec(dump)?.[1], 'overlayfs');
        t.match(await readFile(join(root, 'etc/crictl.yaml'), 'utf8'), 'unix:///run/criquet/criquet.sock');
      });

      await t.test("the entrypoint's other snapshotter is criquet's too", async (t) => {
        const snapshotter = async (): Promise<string | undefined> => {
          await output(root, '/kind/bin/criquet-snapshotter');
          return /^snapshotter = "(.*)"$/m.exec(await output(root, 'criquet config dump'))?.[1];
        };
        t.equal(await snapshotter(), 'overlayfs');
        // As the entrypoint does on ZFS, by `snapshotter = "overlayfs"` in these characters.
        await output(root, `sed -i 's/snapshotter = "overlayfs"/snapshotter = "native"/' /etc/containerd/config.toml`);
        t.equal(await snapshotter(), 'native');
        await output(root, `sed -i 's/snapshotter = "native"/snapshotter = "overlayfs"/' /etc/containerd/config.toml`);
        await output(root, 'rm -r /etc/criquet/config.d');
      });

      await t.test('systemd takes the units, and starts criquet with the node', async (t) => {
        t.equal((await output(root, 'systemctl is-enabled criquet.service')).trim(), 'enabled');
        t.equal((await inRoot(root, 'systemctl is-enabled criquet-switch.service')).stdout.trim(), 'disabled');
        const { code, stderr } = await inRoot(root, 'systemd-analyze verify --man=no criquet.service criquet-switch.service criquet-rollback.service');
        t.equal(code, 0, stderr);
        t.equal(stderr.split('\n').filter((line) => line.includes('criquet')).join('\n'), '', 'without a remark');
        t.match(await output(root, 'cat /etc/systemd/system/criquet.service.d/*.conf'), 'ExecStartPre=/kind/bin/criquet-snapshotter');
      });

      await t.test('uninstall: what was copied is as it was, and nothing else is there', async (t) => {
        t.equal((await output(root, '/opt/criquet/libexec/criquet-node status')).trim(), 'installed');
        await output(root, '/opt/criquet/libexec/criquet-node install');
        await output(root, '/opt/criquet/libexec/criquet-node uninstall');
        const left = await listRoot(root);
        t.strictSame(differences(copied, left), []);
      });

      await t.test('a node whose containerd is too old does not build', async (t) => {
        await writeFile(join(base, 'usr/local/bin/containerd'), '#!/bin/sh\necho containerd github.com/containerd/containerd v1.7.29 0\n');
        await t.rejects(build(join(work, 'old')), { message: /containerd 1\.7\.29 is too old/ });
      });
    });
  }
}

function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).map((path) => `${path}: ${before.get(path) ?? 'absent'} -> ${after.get(path) ?? 'absent'}`);
}
