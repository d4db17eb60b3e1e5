import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../harness/free-port.js';
import { BUSYBOX } from '../harness/pods.js';
import type { Side } from './side.js';

/** The file that crictl reads an object from. */
export function file(side: Side, name: string): string {
  return join(side.node.directory, `${name}.json`);
}

/** Writes the pods and containers of the walk. */
export async function writeFiles(side: Side): Promise<void> {
  const pod = (name: string) => ({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, attempt: 1 },
    hostname: name,
    log_directory: join(side.node.directory, 'logs', name),
    labels: { app: 'crictl' },
    annotations: { note: 'compared' },
    linux: { cgroup_parent: `/${side.node.cgroupParent}` },
  });
  const container = (name: string, script: string, more = {}) => ({
    metadata: { name },
    image: { image: BUSYBOX },
    command: ['sh', '-c', script],
    labels: { part: name },
    annotations: { note: 'compared' },
    log_path: `${name}.log`,
    ...more,
  });
  const files = {
    pod: pod('pod'),
    'other-pod': pod('other-pod'),
    main: container('main', 'echo to stdout; echo to stderr >&2; echo data >/tmp/file; while sleep 0.2; do :; done', {
      envs: [{ key: 'A', value: 'b' }],
      working_dir: '/tmp',
      linux: { resources: { memory_limit_in_bytes: 67108864, cpu_period: 100000, cpu_quota: 50000, cpu_shares: 512 }, security_context: { capabilities: { add_capabilities: ['NET_ADMIN'] } } },
    }),
    echo: container('echo', 'while read line; do echo "got $line"; done; exit 3', { stdin: true, stdin_once: true }),
    web: container('web', 'mkdir /tmp/www; echo -n the page >/tmp/www/index.html; exec httpd -f -p 127.0.0.1:80 -h /tmp/www'),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(file(side, name), JSON.stringify(content));
  for (const name of ['pod', 'other-pod']) await mkdir(join(side.node.directory, 'logs', name), { recursive: true });
}

/** The page of the pod's server, through port-forward. */
export async function page(side: Side, pod: string): Promise<string> {
  const local = await freePort();
  const session = side.crictl.start(['port-forward', pod, `${local}:80`]);
  try {
    await session.printed('Forwarding from');
    const socket = connect({ host: '127.0.0.1', port: local });
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.0\r\n\r\n');
    const answer = await text(socket);
    if (!answer.endsWith('the page')) throw new Error(`no page: ${answer}`);
    return answer.slice(answer.indexOf('\r\n\r\n'));
  } finally {
    session.child.kill('SIGKILL');
    await session.ended;
  }
}

