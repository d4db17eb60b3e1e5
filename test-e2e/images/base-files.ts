import type { RootDirectory } from './root-directory.js';

/** The users that images of the field have, `www-data` among them: critest's images name it. */
const PASSWD = `root:x:0:0:root:/root:/bin/sh
daemon:x:1:1:daemon:/usr/sbin:/bin/false
www-data:x:33:33:www-data:/var/www:/bin/false
nobody:x:65534:65534:nobody:/home:/bin/false
`;

const GROUP = `root:x:0:
daemon:x:1:
www-data:x:33:
nogroup:x:65534:
`;

/** The search path of every image. */
export const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Lays out what every root directory has: users, a world-writable /tmp, empty mount points. */
export async function layOutBaseFiles(root: RootDirectory, extra: { passwd?: string; group?: string } = {}): Promise<void> {
  await root.file('etc/passwd', PASSWD + (extra.passwd ?? ''));
  await root.file('etc/group', GROUP + (extra.group ?? ''));
  await root.file('etc/shadow', 'root:*:::::::\n', 0o640);
  await root.file('etc/nsswitch.conf', 'hosts: files dns\n');
  for (const directory of ['dev', 'proc', 'sys', 'home', 'root', 'run', 'var/lib', 'var/www']) await root.directory(directory);
  await root.symlink('var/run', '/run');
  await root.directory('tmp', 0o1777);
  await root.directory('var/tmp', 0o1777);
}
