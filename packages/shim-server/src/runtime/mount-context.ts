import type { Mount } from '@criquet/runtime-containerd';

/**
 * Mounts whose files all have one SELinux label. A bind mount shows the files of another file system, and they keep theirs.
 *
 * @param context undefined changes nothing
 */
export function withContext(mounts: readonly Mount[], context: string | undefined): Mount[] {
  if (context === undefined) return [...mounts];
  return mounts.map((mount) => (mount.type === 'bind' ? mount : { ...mount, options: [...mount.options, contextOption(context)] }));
}

/** Quoted: a level has commas. */
export function contextOption(context: string): string {
  return `context="${context}"`;
}
