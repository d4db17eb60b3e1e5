import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keepKernelSettings } from '../harness/kernel-settings.js';
import { findProgram } from '../harness/kubernetes/find-program.js';
import { kubeletConfiguration } from '../harness/kubernetes/kubelet-configuration.js';
import { NodeInRoom } from '../harness/kubernetes/node-in-room.js';
import type { SideOptions, SideResult, Target } from './run-side.js';

/**
 * Runs the node suite in a room with cgroups of its own. It starts etcd and an API server on loopback and the kubelet itself, and
 * looks for pods' cgroups at the root.
 */
export async function runOnOwnNode(options: SideOptions, run: (target: Target) => Promise<SideResult>): Promise<SideResult> {
  const inRoom = await NodeInRoom.start({ ...options, ownCgroups: true, handlers: [HANDLER] });
  const { room, node } = inRoom;
  const restoreKernelSettings = await keepKernelSettings();
  try {
    // Where the suite finds it, it starts the kubelet as a unit of the machine's systemd.
    await room.run('sh', '-c', 'path=$(command -v systemd-run) || exit 0; mount --bind /dev/null "$path"');
    const config = join(node.directory, 'node-suite-kubelet.json');
    await writeFile(
      config,
      kubeletConfiguration({
        endpoint: node.endpoint,
        cgroupRoot: '',
        address: '0.0.0.0',
        staticPodPath: join(node.directory, 'static-pods'),
        fields: FIELDS,
      }),
    );
    return await run({
      place: room,
      beside: [await findProgram(options.site.environment, 'kubelet')],
      args: [
        '--prepull-images=false',
        `--container-runtime-endpoint=${node.endpoint}`,
        `--node-name=${room.name}`,
        `--kubelet-config-file=${config}`,
        // Of its own accord it gathers all processes that it finds in a cgroup for the system.
        `--kubelet-flags=--kubelet-cgroups= --system-cgroups= --runtime-cgroups= --node-ip=${room.address}`,
      ],
      keepLogs: (directory) => node.keepLogs(directory),
    });
  } finally {
    await restoreKernelSettings();
    await room.unmountVolumes();
    await inRoom.dispose();
  }
}

/** As the suite's own configuration has them: it waits for volumes' figures and for evictions to end. */
const FIELDS = { volumeStatsAggPeriod: '10s', serializeImagePulls: false, evictionPressureTransitionPeriod: '30s' };

/** The runtime handler that the suite takes for configured. */
const HANDLER = 'test-handler';
