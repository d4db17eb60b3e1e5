import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { XattrError, type Xattrs } from './xattrs.js';

const SELINUX = 'security.selinux';

/** Directories of the node itself, which a new label would take from everybody else (go-selinux has the same list). */
const OF_THE_NODE = new Set(
  '/ /bin /boot /dev /etc /etc/passwd /etc/pki /etc/shadow /home /lib /lib64 /media /opt /proc /root /run /sbin /srv /sys /tmp /usr /var /var/lib /var/log'.split(' '),
);

/** Whether a path, without symbolic links, may be given a container's label. */
export function mayRelabel(path: string): boolean {
  return !OF_THE_NODE.has(path);
}

/**
 * Gives a file, or a directory with everything below it, an SELinux label. What has the label already is left alone, what vanishes meanwhile is
 * passed over, and a file system without labels is fine. The path itself comes last: with its label the rest has it too.
 *
 * Symbolic links are labelled, never followed, also when somebody puts one in a directory's place meanwhile.
 */
export async function relabel(path: string, label: string, xattrs: Xattrs): Promise<void> {
  const one = async (target: string): Promise<void> => {
    // The kernel answers with a closing NUL.
    const current = (await xattrs.get(target, SELINUX))?.toString('utf8').replace(/\0$/, '');
    if (current !== label) await xattrs.set(target, SELINUX, Buffer.from(label));
  };
  const all = async (target: string): Promise<void> => {
    const directory = await open(target, constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(unlessNoDirectory);
    if (directory !== undefined) {
      try {
        const inside = `/proc/self/fd/${directory.fd}`;
        for (const name of await readdir(inside)) await all(`${inside}/${name}`).catch(unlessVanished);
      } finally {
        await directory.close();
      }
    }
    await one(target);
  };
  await all(path).catch((error: unknown) => {
    if (!(error instanceof XattrError && error.code === 'ENOTSUP')) throw error;
  });
}

function unlessNoDirectory(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOTDIR' && code !== 'ELOOP') throw error;
}

function unlessVanished(error: unknown): void {
  if ((error as { code?: unknown }).code !== 'ENOENT') throw error;
}
