import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pod, shell, STAY } from './manifest.js';
import type { Topic } from './side-by-side.js';

/** Those that need no API server; a projected volume does, even where all of its sources are the downward API's. */
export const volumes: Topic = async (t, side) => {
  const host = join(side.machine.node.directory, 'host-path');
  await mkdir(join(host, 'inner'), { recursive: true });
  await writeFile(join(host, 'inner', 'word'), 'from the node\n');
  await side.apply(
    pod(
      'volumes',
      {
        initContainers: [shell('fills', 'echo filled >/shared/a; mkdir /shared/sub; echo below >/shared/sub/b', { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] })],
        containers: [
          shell(
            'main',
            [
              'cat /shared/a /only/b',
              'cat /memory-kind; grep " /memory " /proc/mounts | cut -d" " -f3',
              'cat /host/inner/word; echo from the pod >/host/answer',
              'touch /host-ro/x 2>/dev/null || echo read-only',
              'cat /by-expression/word',
              'cat /about/labels; echo; cat /about-all/name; echo; cat /about-all/memory; echo; stat -c %a /about-all/..data/name',
              STAY,
            ].join('; '),
            {
              env: [{ name: 'PART', value: 'inner' }, { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
              resources: { limits: { memory: '64Mi' } },
              volumeMounts: [
                { name: 'shared', mountPath: '/shared' },
                { name: 'shared', mountPath: '/only', subPath: 'sub' },
                { name: 'memory', mountPath: '/memory' },
                { name: 'host', mountPath: '/host' },
                { name: 'host', mountPath: '/host-ro', readOnly: true, recursiveReadOnly: 'IfPossible' },
                { name: 'host', mountPath: '/by-expression', subPathExpr: '$(PART)' },
                { name: 'kind', mountPath: '/memory-kind' },
                { name: 'labels', mountPath: '/about', readOnly: true },
                { name: 'all', mountPath: '/about-all', readOnly: true },
              ],
            },
          ),
        ],
        volumes: [
          { name: 'shared', emptyDir: {} },
          { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } },
          { name: 'host', hostPath: { path: host, type: 'Directory' } },
          { name: 'kind', hostPath: { path: join(host, 'inner', 'word'), type: 'File' } },
          { name: 'labels', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
          {
            name: 'all',
            downwardAPI: {
              defaultMode: 0o440,
              items: [
                { path: 'name', fieldRef: { fieldPath: 'metadata.name' } },
                { path: 'memory', resourceFieldRef: { containerName: 'main', resource: 'limits.memory', divisor: '1Mi' } },
              ],
            },
          },
        ],
      },
      { labels: { app: 'volumes', tier: 'test' } },
    ),
  );

  const ready = await side.ready('volumes');
  t.same(await side.lines('volumes', 'main', 12), [
    'filled',
    'below',
    'from the node',
    'tmpfs',
    'from the node',
    'read-only',
    'from the node',
    'app="volumes"',
    'tier="test"',
    side.fullName('volumes'),
    '64',
    '440',
  ]);
  t.equal(await readFile(join(host, 'answer'), 'utf8'), 'from the pod\n');
  side.tell('pods/volumes', ready.status);
  side.tell('pods/volumes/mounts', mountsOf(await side.run('volumes', 'main', 'cat', '/proc/self/mounts')));
};

/** Mount points with their file system and options, without sizes that the machine gives. */
function mountsOf(text: string): Record<string, string> {
  const lines = text.trimEnd().split('\n').map((line) => line.split(' '));
  return Object.fromEntries(lines.filter(([, at]) => at !== '/').map(([, at = '', kind = '', options = '']) => [at, `${kind} ${options.replace(/,(size|inode64|nr_inodes)[^,]*/g, '')}`]));
}
