import { eventually } from '../harness/eventually.js';
import { pod, shell, STAY } from './manifest.js';
import { forwardPort, remoteCommand } from './remote-command.js';
import type { Topic } from './side-by-side.js';
import type { Side } from './side.js';

const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;

function url(side: Side, path: string, query: Readonly<Record<string, string>>, command: readonly string[] = []): string {
  const parameters = new URLSearchParams([...Object.entries(query), ...command.map((word): [string, string] => ['command', word])]);
  return `${side.kubelet.url.replace('https:', 'wss:')}/${path}?${parameters.toString()}`;
}

/** /exec, /attach, /run and /portForward. */
export const streams: Topic = async (t, side) => {
  await side.apply(
    pod('listens', { containers: [shell('main', `mkdir /www; printf 'page</end>' >/www/index.html; httpd -p 8080 -h /www; ${STAY}`)] }),
    pod('repeats', { containers: [shell('main', 'while read line; do echo got $line; done', { stdin: true })] }),
    pod('terminal', { containers: [shell('main', 'while :; do echo tick; sleep 0.3; done', { tty: true, stdin: true })] }),
  );
  await side.ready('listens');
  for (const protocol of PROTOCOLS) {
    const exec = (query: Readonly<Record<string, string>>, ...command: string[]) => url(side, `exec/${side.path('listens', 'main')}`, query, command);
    const failed = await remoteCommand(exec({ output: '1', error: '1' }, 'sh', '-c', 'echo out; echo err >&2; exit 7'), { protocol });
    t.match(failed, { stdout: 'out\n', stderr: 'err\n', status: { status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: '7' }] } } }, protocol);
    side.tell(`exec/${protocol}`, failed);
    const terminal = await remoteCommand(exec({ output: '1', input: '1', tty: '1' }, 'sh', '-c', 'test -t 0 && echo terminal'), { protocol });
    t.match(terminal, { stdout: 'terminal\r\n', status: { status: 'Success' } }, protocol);
  }
  const fed = await remoteCommand(url(side, `exec/${side.path('listens', 'main')}`, { output: '1', input: '1' }, ['wc', '-c']), { protocol: 'v5.channel.k8s.io', stdin: 'x'.repeat(100_000), endInput: true });
  t.match(fed, { stdout: '100000\n', status: { status: 'Success' } }, 'its input ends');
  t.equal(await side.run('listens', 'main', 'echo', 'by', 'run'), 'by run\n');

  await side.ready('repeats');
  for (const protocol of PROTOCOLS) {
    const attached = await remoteCommand(url(side, `attach/${side.path('repeats', 'main')}`, { output: '1', error: '1', input: '1' }), { protocol, stdin: `${protocol}\n`, until: /got .*\n/ });
    t.match(attached.stdout, `got ${protocol}\n`);
  }
  await side.ready('terminal');
  const watched = await remoteCommand(url(side, `attach/${side.path('terminal', 'main')}`, { output: '1', input: '1', tty: '1' }), { protocol: 'v4.channel.k8s.io', until: /tick\r\n/ });
  t.match(watched.stdout, /tick\r\n/);

  const page = await eventually(() => forwardPort(url(side, `portForward/default/${side.fullName('listens')}`, { port: '8080' }), 'GET / HTTP/1.0\r\n\r\n'));
  t.match(page, /^HTTP\/1\.[01] 200 OK[^]*page<\/end>$/);
};
