import { readFileSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findTool, type Engine, type Environment } from '../../harness/environment.js';
import { eventually } from '../../harness/eventually.js';
import { startRegistry, type Registry } from '../../harness/registry.js';
import { writeRegistryHosts } from '../../harness/registry-hosts.js';
import type { Runtime } from '../../harness/node.js';
import { run } from '../../harness/run.js';
import { GUEST } from '../guest-job.js';

export const CONTAINERD_CONFIG = '/etc/containerd/config.toml';
export const KUBELET_CONFIG = '/var/lib/kubelet/config.yaml';
export const INSTANCE_CONFIG = '/var/lib/kubelet/instance-config.yaml';
export const KUBELET_FLAGS = '/var/lib/kubelet/kubeadm-flags.env';
const MANIFESTS = '/etc/kubernetes/manifests';
export const CONTAINERD_ENDPOINT = 'unix:///run/containerd/containerd.sock';
export const CRIQUET_ENDPOINT = 'unix:///run/criquet/criquet.sock';
export const CRIQUET_NODE = '/opt/criquet/libexec/criquet-node';

/** What the kubelet says of a pod of its own. */
export interface KubeletPod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly containerStatuses?: readonly KubeletContainer[];
    readonly initContainerStatuses?: readonly object[];
  };
}

export interface KubeletContainer {
  readonly containerID?: string;
  readonly ready: boolean;
  readonly image: string;
  readonly restartCount: number;
  readonly state: { readonly terminated?: { readonly exitCode: number } };
  readonly lastState: { readonly terminated?: { readonly exitCode: number } };
}

/**
 * A node as kubeadm leaves one, but for the control plane: containerd with its CRI plugin and a kubelet, units of systemd and configured in the
 * usual files; the kubelet runs static pods. Only inside the guest, whose system is thrown away afterwards.
 */
export class SystemdKubelet {
  private constructor(private readonly registry: Registry) {}

  /** Lays it out, with the kubelet on containerd's CRI plugin or on criquet from the beginning, and starts it. */
  static async start(environment: Environment, engine: Engine, runtime: Runtime = 'containerd'): Promise<SystemdKubelet> {
    await installPrograms(environment, engine);
    const node = await SystemdKubelet.found(environment);
    for (const [file, content] of Object.entries(files(runtime))) {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
    await mkdir(MANIFESTS, { recursive: true });
    await run('systemctl', ['daemon-reload']);
    if (runtime === 'criquet') await installCriquet();
    await run('systemctl', ['enable', 'node-ready.service']);
    await run('systemctl', ['enable', '--now', 'containerd.service', ...(runtime === 'criquet' ? ['criquet.service'] : []), 'kubelet.service']);
    return node;
  }

  /** One that was laid out before this boot and starts with it; its registry does not. */
  static async found(environment: Environment): Promise<SystemdKubelet> {
    const directory = join(environment.root, 'registry');
    await mkdir(directory, { recursive: true });
    const registry = await startRegistry({ program: environment.registryProgram, storage: environment.registryStorage, directory });
    await writeRegistryHosts('/etc/containerd/certs.d', registry.url);
    return new SystemdKubelet(registry);
  }

  /** Writes a static pod's manifest, which stays when the power is cut. */
  async apply(name: string, spec: object): Promise<void> {
    const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'kube-system' }, spec };
    // Whole when the kubelet sees it, which leaves names with a dot before them alone. JSON is a part of YAML.
    const file = join(MANIFESTS, `.${name}.yaml`);
    await writeFile(file, JSON.stringify(manifest));
    await run('sync', [file]);
    await rename(file, join(MANIFESTS, `${name}.yaml`));
    await run('sync', [MANIFESTS]);
  }

  async remove(name: string): Promise<void> {
    await rm(join(MANIFESTS, `${name}.yaml`), { force: true });
  }

  /** The pods that the kubelet knows, by the names of their manifests. */
  async pods(): Promise<Map<string, KubeletPod>> {
    const response = await fetch('http://127.0.0.1:10255/pods');
    if (!response.ok) throw new Error(`/pods: ${response.status}`);
    const { items } = (await response.json()) as { items: KubeletPod[] | null };
    return new Map((items ?? []).map((pod) => [pod.metadata.name.replace(/-guest$/, ''), pod]));
  }

  /** Waits until all containers of a pod are ready, on the runtime whose endpoint knows them. */
  async ready(name: string, endpoint: string, timeoutMs = 60_000): Promise<void> {
    await eventually(
      async () => {
        const statuses = (await this.pods()).get(name)?.status.containerStatuses ?? [];
        const own = statuses.map(({ containerID = '' }) => containerID.replace(/^.*:\/\//, ''));
        if (own.length === 0 || !statuses.every(({ ready }) => ready)) throw new Error(`${name} is not ready: ${JSON.stringify(statuses)}`);
        const ids = new Set((await crictl(endpoint, 'ps', '--quiet', '--no-trunc')).split('\n'));
        if (!own.every((id) => ids.has(id))) throw new Error(`${endpoint} does not know ${own.join(' ')}`);
      },
      timeoutMs,
      1000,
    );
  }

  async dispose(): Promise<void> {
    await run('systemctl', ['stop', 'kubelet.service']);
    await this.registry.daemon.stop();
  }
}

export async function crictl(endpoint: string, ...args: string[]): Promise<string> {
  return run('crictl', ['--runtime-endpoint', endpoint, '--timeout', '20s', ...args]);
}

/** As an administrator does it, with what `scripts/release-tree` made. */
async function installCriquet(): Promise<void> {
  await run('cp', ['-a', join(GUEST.job, 'release'), '/opt/criquet']);
  await run(CRIQUET_NODE, ['install']);
}

/** Where an administrator's programs are. */
async function installPrograms(environment: Environment, engine: Engine): Promise<void> {
  const programs: Record<string, string> = {};
  for (const name of ['containerd', 'containerd-shim-runc-v2', 'ctr']) programs[name] = join(environment.containerd[engine] ?? '', name);
  for (const name of ['runc', 'crictl', 'kubelet']) {
    const path = await findTool(environment, name);
    if (path === undefined) throw new Error(`${name} is not there`);
    programs[name] = path;
  }
  for (const [name, path] of Object.entries(programs)) await symlink(path, join('/usr/local/bin', name));
  await mkdir('/opt/cni', { recursive: true });
  await symlink(environment.cniBinDir, '/opt/cni/bin');
}

/** As packages of containerd 1.7 left it: the configuration's second version. */
const WITH_CRI_PLUGIN = `version = 2
# an administrator's remark
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.9"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
`;

/**
 * What a boot of the node needs first: its programs, which are on the job's disk; an address that is not the loopback's, for the kubelet; a clock
 * speed, without which cAdvisor does not start, and which user-mode Linux does not tell.
 */
const PREPARE = `#!/bin/sh -e
until mountpoint -q ${GUEST.job} && mountpoint -q ${GUEST.results}; do sleep 0.2; done
ip link add node0 type bridge
ip addr add 10.0.0.2/24 dev node0
ip link set node0 up
ip route add default via 10.0.0.1 dev node0
grep -q '^cpu MHz' /proc/cpuinfo && exit
sed 's/^bogomips.*/&\\ncpu MHz\\t\\t: 1000.000/' /proc/cpuinfo >/run/cpuinfo
mount --bind /run/cpuinfo /proc/cpuinfo
`;

function files(runtime: Runtime): Readonly<Record<string, string>> {
  const endpoint = runtime === 'criquet' ? CRIQUET_ENDPOINT : CONTAINERD_ENDPOINT;
  return {
    [CONTAINERD_CONFIG]: runtime === 'criquet' ? readFileSync(join(GUEST.job, 'release/share/containerd.toml'), 'utf8') : WITH_CRI_PLUGIN,
    '/usr/local/sbin/prepare-node': PREPARE,
    '/etc/systemd/system/node-ready.service': `[Unit]
Description=what a node has before its runtime starts
DefaultDependencies=no
Before=containerd.service kubelet.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh /usr/local/sbin/prepare-node
[Install]
RequiredBy=containerd.service kubelet.service
`,
    '/etc/cni/net.d/10-guest.conflist': JSON.stringify({
      cniVersion: '1.0.0',
      name: 'guest',
      plugins: [
        {
          type: 'bridge',
          bridge: 'pods0',
          isGateway: true,
          ipam: { type: 'host-local', ranges: [[{ subnet: '10.1.0.0/24' }]], routes: [{ dst: '0.0.0.0/0' }] },
        },
      ],
    }),
    '/etc/systemd/system/containerd.service': `[Unit]
Description=containerd
[Service]
Type=notify
ExecStart=/usr/local/bin/containerd
Delegate=yes
KillMode=process
Restart=always
LimitNOFILE=1048576
TasksMax=infinity
[Install]
WantedBy=multi-user.target
`,
    '/etc/systemd/system/kubelet.service': `[Unit]
Description=kubelet
[Service]
EnvironmentFile=-${KUBELET_FLAGS}
ExecStart=/usr/local/bin/kubelet --config=${KUBELET_CONFIG} --hostname-override=guest $KUBELET_KUBEADM_ARGS
Restart=always
RestartSec=1
StandardOutput=append:/results/kubelet.log
StandardError=append:/results/kubelet.log
[Install]
WantedBy=multi-user.target
`,
    [KUBELET_CONFIG]: `apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: true
  webhook:
    enabled: false
authorization:
  mode: AlwaysAllow
cgroupDriver: systemd
containerRuntimeEndpoint: ${endpoint}
evictionHard:
  imagefs.available: 0.1%
  memory.available: 1Mi
  nodefs.available: 0.1%
failSwapOn: false
fileCheckFrequency: 1s
kind: KubeletConfiguration
readOnlyPort: 10255
staticPodPath: ${MANIFESTS}
`,
    [INSTANCE_CONFIG]: `containerRuntimeEndpoint: "${endpoint}"\n`,
    [KUBELET_FLAGS]: 'KUBELET_KUBEADM_ARGS="--v=2"\n',
  };
}
