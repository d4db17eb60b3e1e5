import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { run, tryRun, type RunResult } from '../harness/run.js';
import { readDockerfile } from './dockerfile.js';

export interface RootBuild {
  readonly dockerfile: string;
  /** The build context. */
  readonly context: string;
  /** Values of build arguments. */
  readonly args: Readonly<Record<string, string>>;
  /** Root directories that stand for images, by reference; copied, not written. */
  readonly images: Readonly<Record<string, string>>;
  /** Where the directories of the stages are made. */
  readonly directory: string;
  /** Called before a RUN step, with the root directory as it is by then. */
  readonly beforeRun?: (root: string) => Promise<void>;
}

/** Carries out a Dockerfile in root directories instead of containers. Returns the last stage's. Throws with the output of a step that fails. */
export async function buildRoot(build: RootBuild): Promise<string> {
  const args: Record<string, string> = { ...build.args };
  const stages: Record<string, string> = {};
  const expand = (text: string): string => text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => args[name] ?? '');
  let root = '';
  let stage: string | undefined;
  // The directory that stands for the image is the stage's until something is changed in it.
  let unchanged: string | undefined;
  const own = async (): Promise<string> => {
    if (unchanged !== undefined) {
      await run('cp', ['-a', '--reflink=auto', root, unchanged]);
      root = unchanged;
      unchanged = undefined;
      if (stage !== undefined) stages[stage] = root;
    }
    return root;
  };
  await mkdir(build.directory, { recursive: true });
  for (const step of await readDockerfile(build.dockerfile)) {
    switch (step.kind) {
      case 'arg':
        args[step.name] ??= step.value ?? '';
        break;
      case 'from': {
        const image = build.images[expand(step.image)];
        if (image === undefined) throw new Error(`no root directory for image ${expand(step.image)}`);
        stage = step.stage;
        if (stage !== undefined) stages[stage] = image;
        root = image;
        unchanged = join(build.directory, stage ?? 'result');
        break;
      }
      case 'copy':
        for (const source of step.sources) {
          const from = step.from === undefined ? build.context : stages[step.from];
          if (from === undefined) throw new Error(`COPY --from=${step.from ?? ''}: no such stage`);
          await copyInto(join(from, source), join(await own(), step.target), step.mode);
        }
        break;
      case 'run': {
        await build.beforeRun?.(await own());
        const { code, stdout, stderr } = await inRoot(await own(), step.command);
        if (code !== 0) throw new Error(`RUN ${step.command}: exit code ${code}: ${stderr || stdout}`);
        break;
      }
      case 'entrypoint':
      case 'cmd':
        break;
    }
  }
  return root;
}

/** As COPY has it: of a directory what is in it, a file under the target's name unless that ends in a slash. */
async function copyInto(source: string, target: string, mode: string | undefined): Promise<void> {
  if (source.endsWith('/')) {
    await mkdir(target, { recursive: true });
    await run('cp', ['-a', `${source}.`, target]);
    return;
  }
  const file = target.endsWith('/') ? join(target, basename(source)) : target;
  await mkdir(dirname(file), { recursive: true });
  await run('cp', [source, file]);
  if (mode !== undefined) await run('chmod', [mode, file]);
}

/** Runs a shell command in a root directory, with /proc and /dev, in mount and process namespaces of its own. */
export function inRoot(root: string, command: string): Promise<RunResult> {
  const enter = 'mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && exec chroot "$1" /usr/bin/env -i PATH="$3" HOME=/root /bin/sh -c "$2"';
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  return tryRun('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, 'sh', root, command, path]);
}

/** Everything in a root directory but for what a running system mounts over (/proc, /dev, /run): type, mode, owner, link and content's sum by path. */
export async function listRoot(root: string): Promise<Map<string, string>> {
  const script = `find . -xdev \\( -path ./proc -o -path ./dev -o -path ./run \\) -prune -o -printf '%p\\t%y %m %U:%G %l\\n'
    find . -xdev \\( -path ./proc -o -path ./dev -o -path ./run \\) -prune -o -type f -print0 | xargs -0 sha256sum | sed 's/\\([^ ]*\\)  \\(.*\\)/\\2\\tsum \\1/'`;
  const lines = (await run('sh', ['-c', script], { cwd: root })).trimEnd().split('\n');
  const found = new Map<string, string>();
  for (const line of lines) {
    const [path = '', fact = ''] = line.split('\t');
    found.set(path, `${found.get(path) ?? ''}${fact} `);
  }
  return found;
}
