import { existsSync, readFileSync } from 'node:fs';
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

/** The settings before the first kubelet of this process, and how many kubelets there are. */
const kept = { before: new Map<string, string>(), by: 0 };

/** Remembers the settings; the function that is returned sets them back, when nobody else in this process still keeps them. */
export function keepKernelSettings(): () => Promise<void> {
  const first = kept.by++ === 0;
  // Read before anything else can happen: a second caller may start its kubelet while the first still reads.
  if (first) kept.before = new Map(CHANGED_BY_KUBELET.flatMap((name) => readSetting(name)));
  return async () => {
    if (--kept.by > 0) return;
    for (const [name, value] of kept.before) {
      if ((await readFile(path(name), 'utf8')) !== value) await writeFile(path(name), value);
    }
  };
}

function readSetting(name: string): [[string, string]] | [] {
  return existsSync(path(name)) ? [[name, readFileSync(path(name), 'utf8')]] : [];
}

function path(setting: string): string {
  return `/proc/sys/${setting}`;
}
