import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Engine, Environment } from '../harness/environment.js';
import { findTool } from '../harness/environment.js';
import { run } from '../harness/run.js';

/**
 * What `deploy/kind/Dockerfile` relies on of a kindest/node image, on a root directory of Debian packages: containerd and its configuration, units, crictl,
 * CNI plugins. After kind's images/base/Dockerfile and files, as of kind 0.33.
 *
 * @param debian from `scripts/lib/debian-root.sh`; copied
 */
export async function layOutKindBase(debian: string, root: string, environment: Environment, engine: Engine): Promise<void> {
  await run('cp', ['-a', '--reflink=auto', debian, root]);
  const put = async (path: string, content: string, mode = 0o644): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
    await chmod(join(root, path), mode);
  };
  const program = async (source: string, target: string): Promise<void> => {
    await mkdir(dirname(join(root, target)), { recursive: true });
    await copyFile(source, join(root, target));
    await chmod(join(root, target), 0o755);
  };
  for (const name of ['containerd', 'containerd-shim-runc-v2', 'ctr']) await program(join(environment.containerd[engine] ?? '', name), `usr/local/bin/${name}`);
  for (const [name, target] of [['crictl', 'usr/local/bin/crictl'], ['runc', 'usr/local/sbin/runc']] as const) {
    const path = await findTool(environment, name);
    if (path === undefined) throw new Error(`${name} is not there`);
    await program(path, target);
  }
  for (const name of ['host-local', 'loopback', 'ptp', 'portmap']) await program(join(environment.cniBinDir, name), `opt/cni/bin/${name}`);
  await put('etc/containerd/config.toml', 'version = 2\n\n[plugins."io.containerd.grpc.v1.cri".containerd]\n  snapshotter = "overlayfs"\n');
  await put('etc/containerd/cri-base.json', await run(join(environment.containerd[engine] ?? '', 'ctr'), ['oci', 'spec']));
  await put('etc/crictl.yaml', 'runtime-endpoint: unix:///run/containerd/containerd.sock');
  await put('kind/bin/mount-product-files.sh', '#!/bin/sh\n', 0o755);
  await put(
    'etc/systemd/system/containerd.service',
    '[Unit]\nDescription=containerd\n[Service]\nType=notify\nExecStart=/usr/local/bin/containerd\n[Install]\nWantedBy=multi-user.target\n',
  );
  await put('etc/systemd/system/kubelet.service', '[Unit]\nDescription=kubelet\nConditionPathExists=/var/lib/kubelet/config.yaml\n[Service]\nExecStart=/usr/bin/kubelet\n');
  await put('usr/bin/kubelet', '#!/bin/sh\n', 0o755);
}
