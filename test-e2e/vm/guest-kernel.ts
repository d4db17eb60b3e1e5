/** The two kernels a guest can have: Debian's under QEMU without hardware virtualisation, or user-mode Linux. */
export type GuestKernel = 'qemu' | 'uml';

/** Disks of a guest: its system and two of the run's own. */
export interface GuestDisks {
  readonly system: string;
  /** Whether the system is the run's own too; otherwise its image is never written. */
  readonly ownSystem: boolean;
  readonly job: string;
  readonly results: string;
}

export interface GuestCommand {
  readonly program: string;
  readonly args: readonly string[];
}

/** Kernel arguments of both: a quiet start, an end instead of a hang, AppArmor on. */
const COMMON = ['rootfstype=ext4', 'rw', 'quiet', 'loglevel=3', 'systemd.show_status=0', 'panic=-1', 'oops=panic', 'apparmor=1', 'security=apparmor'];

/**
 * QEMU with emulated CPUs, of a model without AVX: libraries then choose code that is faster to emulate. The kernel has NVMe, ext4 and the serial console built in, so it needs no initial RAM disk; the other
 * disks are found by their labels, once udev has loaded their driver.
 *
 * @param kernel `vmlinuz`
 */
export function qemuCommand(kernel: string, disks: GuestDisks, resources: { cpus: number; memoryMib: number }): GuestCommand {
  const disk = (id: string, file: string, options: string, device: string): string[] => [
    '-drive',
    `if=none,id=${id},file=${file},format=raw,cache=unsafe,${options}`,
    '-device',
    `${device},drive=${id},serial=${id}`,
  ];
  return {
    program: 'qemu-system-x86_64',
    args: [
      ...['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none', '-monitor', 'none', '-serial', 'stdio'],
      ...['-machine', 'q35,usb=off', '-accel', 'tcg,thread=multi,tb-size=512', '-cpu', 'Nehalem'],
      ...['-smp', String(resources.cpus), '-m', String(resources.memoryMib)],
      ...['-kernel', kernel, '-append', [...COMMON, 'root=/dev/nvme0n1', 'console=ttyS0', 'mitigations=off'].join(' ')],
      // Not locked where it is never written: several guests may run on one image.
      ...disk('system', disks.system, disks.ownSystem ? 'snapshot=off' : 'snapshot=on,file.locking=off', 'nvme'),
      ...disk('job', disks.job, 'readonly=on', 'virtio-blk-pci'),
      ...disk('results', disks.results, 'snapshot=off', 'virtio-blk-pci'),
      ...['-device', 'virtio-rng-pci'],
    ],
  };
}

/**
 * A user-mode Linux kernel, which is a program of this machine. Its processes change between CPUs at every system call unless all
 * of them are pinned to one, where the guest runs two to three times faster. `seccomp=on` lets guest processes run without ptrace.
 *
 * @param kernel the program `linux`
 * @param directory of the run; what the guest writes to its system disk, its memory and its sockets are here
 */
export function umlCommand(kernel: string, disks: GuestDisks, resources: { cpu: number; memoryMib: number }, directory: string): GuestCommand {
  return {
    program: 'taskset',
    args: [
      ...['--cpu-list', String(resources.cpu), kernel],
      ...[`mem=${resources.memoryMib}M`, 'ncpus=1', 'seccomp=on', `uml_dir=${directory}/`, 'umid=guest'],
      ...[`ubd0=${disks.ownSystem ? '' : `${directory}/system.cow,`}${disks.system}`, `ubd1r=${disks.job}`, `ubd2=${disks.results}`],
      ...['con=null', 'con0=null,fd:1', 'con1=null,fd:1', 'root=/dev/ubda', ...COMMON, 'lsm=apparmor'],
    ],
  };
}
