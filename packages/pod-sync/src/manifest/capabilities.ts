/** The capabilities of Linux (capabilities(7), up to Linux 5.9, which brought the newest). */
const CAPABILITIES = new Set(
  (
    'AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID ' +
    'IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN NET_BIND_SERVICE NET_BROADCAST NET_RAW ' +
    'PERFMON SETFCAP SETGID SETPCAP SETUID SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO ' +
    'SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG SYSLOG WAKE_ALARM'
  ).split(' '),
);

/** Whether a name of `capabilities.add` or `drop` means something: with or without `CAP_`, in any case, or `ALL`. */
export function isCapability(name: string): boolean {
  const plain = name.toUpperCase().replace(/^CAP_/, '');
  return plain === 'ALL' || CAPABILITIES.has(plain);
}
