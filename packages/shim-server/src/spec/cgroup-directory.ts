/**
 * Where a cgroup is in the file system.
 *
 * @param cgroupsPath an OCI `linux.cgroupsPath`, see `cgroupPath`; its form tells the driver that it was made for.
 * @param controller picks the hierarchy on cgroup v1, for example `memory`; without meaning on v2.
 * @param root the cgroup mount, other in tests.
 */
export function cgroupDirectory(
  cgroupsPath: string,
  node: { cgroup: 'v1' | 'v2' },
  controller: string,
  root = '/sys/fs/cgroup',
): string {
  const hierarchy = node.cgroup === 'v2' ? root : `${root}/${controller}`;
  return `${hierarchy}${cgroupsPath.includes(':') ? scopePath(cgroupsPath) : cgroupsPath}`;
}

/** `a-b.slice:prefix:name` is the scope `prefix-name.scope` in `/a.slice/a-b.slice` (systemd.slice(5)). */
function scopePath(cgroupsPath: string): string {
  const [slice = '', prefix = '', name = ''] = cgroupsPath.split(':');
  const parts = slice.replace(/\.slice$/, '').split('-');
  const slices = parts.map((_, index) => `/${parts.slice(0, index + 1).join('-')}.slice`);
  return `${slices.join('')}/${prefix}-${name}.scope`;
}
