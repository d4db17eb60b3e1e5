import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../harness/eventually.js';
import type { Kubectl } from '../../harness/kubernetes/kubectl.js';
import { RunningCommand } from '../../harness/running-command.js';
import { FOR_EVER, pod, script, service, webServer } from './objects.js';
import type { Scene } from './scene.js';

/** `kubectl exec`: both outputs, the exit code, input, and a terminal. */
export async function exec({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(pod('shell', script(FOR_EVER)));
  await kubectl.wait('condition=Ready', 'pod/shell');
  const failed = await kubectl.attempt(['exec', 'shell', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']);
  assert.equal(failed.code, 7);
  assert.equal(failed.stdout, 'out\n');
  assert.match(failed.stderr, /^err\n/);
  const input = randomBytes(200_000).toString('base64');
  assert.equal((await kubectl.attempt(['exec', '--stdin', 'shell', '--', 'cat'], { input })).stdout, input);
  const terminal = onTerminal(kubectl, 'exec', '--stdin', '--tty', 'shell', '--', 'sh');
  terminal.write('tty; exit 5\n');
  const { code, stdout } = await terminal.exited();
  assert.match(stdout, /\/dev\/pts\/\d/);
  assert.equal(code, 5);
  const missing = await kubectl.attempt(['exec', 'shell', '--', '/no/such/program']);
  assert.notEqual(missing.code, 0);
  assert.match(missing.stderr, /no such file or directory/);
}

/** `kubectl attach` to a container with an input, and to one with a terminal. */
export async function attach({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(
    pod('asks', script('while read line; do echo "got $line"; done', { stdin: true })),
    pod('terminal', script('while read line; do echo "got $line"; done', { stdin: true, tty: true })),
  );
  await kubectl.wait('condition=Ready', 'pod/asks');
  const plain = kubectl.start('attach', 'asks', '--stdin');
  await retype(plain, 'hello\n', /^got hello$/m);
  await plain.stop();
  await kubectl.wait('condition=Ready', 'pod/terminal');
  const terminal = onTerminal(kubectl, 'attach', 'terminal', '--stdin', '--tty');
  await retype(terminal, 'there\n', /got there\r\n/);
  await terminal.stop();
}

/** `kubectl attach` without a terminal of its own to a container that has one: its output is one stream. */
export async function attachToTerminalWithoutOne({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(pod('ticker', script('while :; do echo tick; sleep 0.2; done', { tty: true })));
  await kubectl.wait('condition=Ready', 'pod/ticker');
  const attached = kubectl.start('attach', 'ticker');
  await attached.printed(/tick\r?\n.*tick/s);
  await attached.stop();
}

/** `kubectl cp` of a file and of a directory, both ways. */
export async function copy({ kubectl, node }: Scene): Promise<void> {
  const directory = await mkdtemp(join(node.directory, 'copy-'));
  await kubectl.apply(pod('files', script(FOR_EVER)));
  await kubectl.wait('condition=Ready', 'pod/files');
  const content = randomBytes(3_000_000);
  await mkdir(join(directory, 'tree', 'inner'), { recursive: true });
  await writeFile(join(directory, 'tree', 'inner', 'data'), content);
  await writeFile(join(directory, 'tree', 'note'), 'a note\n');
  await kubectl.run('cp', join(directory, 'tree'), 'files:/tmp/tree');
  assert.equal(await kubectl.run('exec', 'files', '--', 'cat', '/tmp/tree/note'), 'a note\n');
  await kubectl.run('cp', 'files:/tmp/tree', join(directory, 'back'));
  assert.ok((await readFile(join(directory, 'back', 'inner', 'data'))).equals(content));
  await kubectl.run('cp', 'files:/tmp/tree/note', join(directory, 'note'));
  assert.equal(await readFile(join(directory, 'note'), 'utf8'), 'a note\n');
  await rm(directory, { recursive: true });
}

/** `kubectl port-forward` to a pod and to a Service. */
export async function portForward({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(pod('web', webServer()), service('web'));
  await kubectl.wait('condition=Ready', 'pod/web');
  for (const [target, port] of [['pod/web', '8080'], ['service/web', '80']] as const) {
    const forwarding = kubectl.start('port-forward', target, `:${port}`);
    try {
      const [, local] = await forwarding.printed(/Forwarding from 127\.0\.0\.1:(\d+) -> 8080/);
      const ask = async (path: string) => (await fetch(`http://127.0.0.1:${local}/${path}`, { signal: AbortSignal.timeout(10_000) })).text();
      assert.equal(await ask('hostname'), 'web');
      assert.deepEqual(await Promise.all(['a', 'b', 'c', 'd'].map((word) => ask(`echo?msg=${word}`))), ['a', 'b', 'c', 'd']);
    } finally {
      await forwarding.stop('SIGINT');
    }
  }
}

/** kubectl on a terminal of its own, which `script` makes. */
function onTerminal(kubectl: Kubectl, ...args: string[]): RunningCommand {
  const [program, all] = kubectl.command(args);
  const line = [program, ...all].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  return new RunningCommand('script', ['--quiet', '--flush', '--return', '--command', line, '/dev/null'], kubectl.env);
}

/** Sends a line again until it is answered: the first may have come before there was a stream. */
async function retype(command: RunningCommand, line: string, answer: RegExp): Promise<void> {
  await eventually(async () => {
    command.write(line);
    await command.printed(answer, 1_000);
  }, 30_000);
}
