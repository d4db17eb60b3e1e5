/** The profile of containers that ask for RuntimeDefault, or for none. */
export const DEFAULT_APPARMOR_PROFILE = 'criquet-default';

/** What of AppArmor's own files a node has: without them the profile says it itself. */
export interface PolicyFiles {
  readonly abi: boolean;
  readonly tunables: boolean;
  readonly base: boolean;
}

/**
 * The default profile, in the language of apparmor.d(5). A container may use its files, its network and the capabilities it was
 * given. It may not mount, nor change what belongs to the node: below /proc it writes to its own processes and to the sysctls of its
 * own namespaces, below /sys to its cgroups. Kernel memory, firmware and security policy cannot be read either.
 *
 * `deny` goes before every other rule, so what stays open is left out of the patterns.
 */
export function defaultAppArmorProfile(files: PolicyFiles): string {
  return `${files.abi ? 'abi <abi/3.0>,\n' : ''}${files.tunables ? '#include <tunables/global>' : '@{PROC}=/proc/'}

profile ${DEFAULT_APPARMOR_PROFILE} flags=(attach_disconnected,mediate_deleted) {
${files.base ? '  #include <abstractions/base>\n' : ''}
  file,
  network,
  capability,
  umount,

  # The node ends containers; what shares the profile may do so among itself, and trace itself.
  signal (receive) peer=unconfined,
  signal (receive) peer={runc,crun},
  signal (send, receive) peer=${DEFAULT_APPARMOR_PROFILE},
  ptrace (trace, read, tracedby, readby) peer=${DEFAULT_APPARMOR_PROFILE},

  deny mount,

  # /proc: its files, and every directory but sys and those of processes (self, thread-self and net are links to one).
  deny @{PROC}/* w,
  deny @{PROC}/{[^1-9s]*,s[^y]*,sy[^s]*,sys?*}/** wl,
  deny @{PROC}/sys/{[^fkn]**,f[^s]**,k[^e]**,n[^e]**} wl,
  deny @{PROC}/sys/fs/{[^m]**,m[^q]**} wl,
  deny @{PROC}/sys/kernel/{[^ms]**,m[^s]**,s[^eh]**,se[^m]**} wl,
  deny @{PROC}/{sysrq-trigger,kcore,kmem,mem} rwklx,

  # /sys: all but cgroups.
  deny /sys/{[^f]**,f[^s]**} wklx,
  deny /sys/fs/{[^c]**,c[^g]**} wklx,
  deny /sys/firmware/** rwklx,
  deny /sys/devices/virtual/powercap/** rwklx,
  deny /sys/kernel/security/** rwklx,
}
`;
}
