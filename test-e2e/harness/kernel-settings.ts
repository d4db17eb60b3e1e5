import { readFile, writeFile } from 'node:fs/promises';

/** Settings of the whole kernel that a kubelet changes when it starts. */
const CHANGED_BY_KUBELET = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
];

/** Remembers the settings; the function that is returned sets back those that have changed. */
export async function keepKernelSettings(): Promise<() => Promise<void>> {
  const before = new Map<string, string>();
  for (const name of CHANGED_BY_KUBELET) {
    const value = await readFile(`/proc/sys/${name}`, 'utf8').catch(() => undefined);
    if (value !== undefined) before.set(name, value);
  }
  return async () => {
    for (const [name, value] of before) {
      if ((await readFile(`/proc/sys/${name}`, 'utf8')) !== value) await writeFile(`/proc/sys/${name}`, value);
    }
  };
}
