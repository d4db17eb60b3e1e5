import { CriCallError } from '@criquet/cri-api';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { CommandLine, manifestText } from './harness.js';

const TWO = 'containers: [{name: a, image: "x:1"}, {name: b, image: "x:1"}]';

/** A command line with the pod `p` of two containers running. */
async function withPod(t: { testdir(files?: { [name: string]: string }): string }, spec = TWO) {
  const dir = t.testdir({ 'p.yaml': manifestText(spec) });
  const line = new CommandLine(dir);
  const { code, stderr } = await line.run('pod', 'run', '-q', join(dir, 'p.yaml'));
  if (code !== 0) throw new Error(stderr);
  return { line, dir };
}

await t.test('run prints steps, calls and times, then the pod', async (t) => {
  const dir = t.testdir({ 'p.yaml': manifestText(`initContainers: [{name: i, image: "x:1"}]\n${TWO}`) });
  const line = new CommandLine(dir);
  line.cri.behaviour.set('i', { exitCode: 0 });
  const { code, stdout, stderr } = await line.run('pod', 'run', join(dir, 'p.yaml'));
  t.equal(code, 0);
  t.equal(stderr, '');
  const lines = stdout.split('\n');
  t.same(
    lines.filter((text) => /^\d\. /.test(text)),
    [
      '1. compute sandbox and container changes',
      '2. kill the pod sandbox: nothing to do',
      '3. kill containers that must not run: nothing to do',
      '4. create the pod sandbox: attempt 0',
      '5. start ephemeral containers: nothing to do',
      '6. start init containers: i',
      '7. start ordinary containers: nothing to do',
      '1. compute sandbox and container changes',
      '7. start ordinary containers: a, b',
    ],
  );
  const created = lines.indexOf('4. create the pod sandbox: attempt 0');
  t.match(lines[created + 1], /^ {5}RunPodSandbox +p +\d+\.\d ms$/);
  t.match(stdout, /pod default\/p is Running, IP 10\.0\.0\.2/);
  t.match(stdout, /CONTAINER +KIND +STATE +RESTARTS +IMAGE/);
  t.match(stdout, /i +init +terminated: Completed \(0\) +0 +x:1/);
  t.equal(line.closed, 1, 'the connection is closed');
});

await t.test('run from standard input, as JSON, quietly', async (t) => {
  const line = new CommandLine(t.testdir({}));
  line.stdin = manifestText(TWO);
  const { code, stdout, stderr } = await line.run('pod', 'run', '-', '--output', 'json');
  t.equal(code, 0);
  t.match(JSON.parse(stdout), { name: 'p', phase: 'Running', ips: ['10.0.0.2'], containers: [{ name: 'a' }, { name: 'b' }] });
  t.match(stderr, /1\. compute/, 'steps stand beside the result');
  const quiet = await line.run('pod', 'run', '-', '-o', 'yaml', '-q');
  t.match(quiet.stdout, /^name: p$/m);
  t.equal(quiet.stderr, '');
});

await t.test('a wrong manifest: exit code 2, every problem with file, line and field', async (t) => {
  const dir = t.testdir({ 'p.yaml': manifestText('containers: [{name: a, image: 3, tty: 1}]') });
  const line = new CommandLine(dir);
  const { code, stderr } = await line.run('pod', 'run', join(dir, 'p.yaml'));
  t.equal(code, 2);
  t.match(stderr, `criquet: ${dir}/p.yaml:5: spec.containers[0].image: expected a string, got 3; put it in quotes\n`);
  t.match(stderr, `${dir}/p.yaml:5: spec.containers[0].tty: expected true or false, got 1\n`);
  t.equal(line.connections.length, 0, 'no call was made');
  const missing = await line.run('pod', 'run', join(dir, 'none.yaml'));
  t.match(missing, { code: 2, stderr: `criquet: ${dir}/none.yaml: there is no such file\n` });
  t.match(await line.run('pod', 'run', dir), { code: 2, stderr: `criquet: ${dir}: is a directory; give the file of one pod\n` });
  t.match(await line.run('pod', 'run', join(dir, 'p.yaml', 'x')), { code: 2, stderr: /p\.yaml\/x: cannot be read: ENOTDIR/ });
});

await t.test('warnings', async (t) => {
  const dir = t.testdir({ 'p.yaml': manifestText('containers: [{name: a, image: x, livenessProbe: {}}]') });
  const { code, stderr } = await new CommandLine(dir).run('pod', 'run', '-q', join(dir, 'p.yaml'));
  t.equal(code, 0);
  t.match(stderr, /^warning: .*p\.yaml:5: spec\.containers\[0\]\.livenessProbe: is ignored: probes/);
});

await t.test('a failed call: exit code 1, at once; tried again with --retry', async (t) => {
  const dir = t.testdir({ 'p.yaml': manifestText(TWO) });
  const line = new CommandLine(dir);
  line.cri.failNext('CreateContainer', new CriCallError('CreateContainer', 5, 'no such image'), 1);
  const { code, stdout, stderr } = await line.run('pod', 'run', join(dir, 'p.yaml'));
  t.equal(code, 1, 'what a call inside does not find is not the pod');
  t.equal(stderr, 'criquet: container a: CreateContainerError: CreateContainer: NOT_FOUND: no such image\n');
  t.match(stdout, /CreateContainer +a +\d+\.\d ms {3}FAILED: CreateContainer: NOT_FOUND: no such image/);
  line.cri.failNext('CreateContainer', new CriCallError('CreateContainer', 14, 'not now'), 1);
  t.equal((await line.run('pod', 'run', '--retry', join(dir, 'p.yaml'))).code, 0);
});

await t.test('time runs out: exit code 4 and what was waited for', async (t) => {
  const dir = t.testdir({ 'p.yaml': manifestText(`initContainers: [{name: i, image: x}]\n${TWO}`) });
  const { code, stderr } = await new CommandLine(dir).run('pod', 'run', '-q', '--timeout', '200ms', join(dir, 'p.yaml'));
  t.equal(code, 4);
  t.equal(stderr, 'criquet: the pod did not run in time; phase Pending; a is waiting; b is waiting\n');
});

await t.test('interrupted: exit code 130', async (t) => {
  const dir = t.testdir({ 'p.yaml': manifestText(`initContainers: [{name: i, image: x}]\n${TWO}`) });
  const line = new CommandLine(dir);
  setTimeout(() => line.interruption.abort(), 100);
  const { code, stderr } = await line.run('pod', 'run', '-q', join(dir, 'p.yaml'));
  t.equal(code, 130);
  t.equal(stderr, 'criquet: interrupted\n');
});

await t.test('a pod that fails: exit code 5 and why', async (t) => {
  const dir = t.testdir({ 'p.yaml': manifestText('restartPolicy: Never\ncontainers: [{name: a, image: x}]') });
  const line = new CommandLine(dir);
  line.cri.behaviour.set('a', { exitCode: 3 });
  const { code, stderr } = await line.run('pod', 'run', '-q', join(dir, 'p.yaml'));
  t.equal(code, 5);
  t.equal(stderr, 'criquet: pod default/p failed: a ended with 3 (Error)\n');
});

await t.test('--keep goes on by the restart policy until the pod has ended', async (t) => {
  const dir = t.testdir({ 'p.yaml': manifestText('restartPolicy: OnFailure\ncontainers: [{name: a, image: x}]') });
  const line = new CommandLine(dir);
  const running = line.run('pod', 'run', '--keep', join(dir, 'p.yaml'));
  const until = async (condition: () => boolean) => {
    for (let i = 0; i < 100 && !condition(); i++) await sleep(50);
  };
  await until(() => line.cri.latest('a') !== undefined);
  line.cri.exit('a', 1);
  await until(() => line.cri.latest('a')?.metadata?.attempt === 1);
  line.cri.exit('a', 0);
  const { code } = await running;
  t.equal(code, 0);
  t.equal(line.cri.latest('a')?.metadata?.attempt, 1);
});

await t.test('ps', async (t) => {
  const { line } = await withPod(t);
  line.stdin = manifestText('initContainers: [{name: i, image: x}]\ncontainers: [{name: a, image: x}]', 'name: q, namespace: other');
  await line.run('pod', 'run', '-q', '-', '--timeout', '0.1');
  const table = await line.run('pod', 'ps');
  t.equal(table.code, 0);
  t.match(table.stdout, /^NAMESPACE +NAME +READY +STATUS +RESTARTS +IP +AGE +SANDBOX\n/);
  t.match(table.stdout, /\ndefault +p +2\/2 +Running +0 +10\.0\.0\.2 +\d+s +0000000000000\n/);
  t.match(table.stdout, /\nother +q +0\/0 +Init:0\/1 +0 +10\.0\.0\.3/);
  t.equal((await line.run('pod', 'ps', '-q')).stdout, 'default/p\nother/q\n');
  t.equal((await line.run('pod', 'ps', '-q', '-n', 'other')).stdout, 'other/q\n');
  t.match(JSON.parse((await line.run('pod', 'ps', '-o', 'json')).stdout), [{ name: 'p', sandbox: { ready: true } }, { name: 'q' }]);
  await line.run('pod', 'stop', 'p');
  t.match((await line.run('pod', 'ps')).stdout, /default +p +0\/2 +Error/);
});

await t.test('endpoint: flag before or after the subcommand, environment, default', async (t) => {
  const dir = t.testdir({});
  const used = async (env: Record<string, string>, ...words: string[]) => {
    const line = new CommandLine(dir, { env });
    await line.run(...words);
    return line.connections[0];
  };
  t.same(await used({}, 'pod', 'ps'), { endpoint: 'unix:///run/criquet/criquet.sock' });
  t.same(await used({ CONTAINER_RUNTIME_ENDPOINT: '/env.sock' }, 'pod', 'ps'), { endpoint: '/env.sock' });
  t.same(await used({ CONTAINER_RUNTIME_ENDPOINT: '/env.sock' }, 'pod', 'ps', '-r', '/flag.sock'), { endpoint: '/flag.sock' });
  t.same(await used({}, 'pod', '--runtime-endpoint', '/flag.sock', 'ps'), { endpoint: '/flag.sock' });
  t.same(await used({ IMAGE_SERVICE_ENDPOINT: '/image.sock' }, 'pod', 'ps'), {
    endpoint: 'unix:///run/criquet/criquet.sock',
    imageEndpoint: '/image.sock',
  });
});

await t.test('a runtime that cannot be reached, and one that cannot reach containerd', async (t) => {
  const line = new CommandLine(t.testdir({}));
  const away = 'cannot reach the runtime at /x.sock: ENOENT';
  line.cri.failNext('ListPodSandbox', new CriCallError('ListPodSandbox', 14, away, { connectionFailed: true }), 1);
  t.match(await line.run('pod', 'ps'), {
    code: 1,
    stderr: `criquet: ListPodSandbox: ${away}; see --runtime-endpoint and CONTAINER_RUNTIME_ENDPOINT\n`,
  });
  const behind = 'containerd containers.list: cannot reach containerd at /c.sock: ECONNREFUSED';
  line.cri.failNext('ListPodSandbox', new CriCallError('ListPodSandbox', 14, behind), 1);
  t.match(await line.run('pod', 'ps'), { code: 1, stderr: `criquet: ListPodSandbox: UNAVAILABLE: ${behind}\n` }, 'the endpoint is right');
  const bad = new CommandLine(t.testdir({}), {
    connect: () => {
      throw new Error('CRI endpoint "tcp://x": expected unix:///absolute/path.sock');
    },
  });
  t.match(await bad.run('pod', 'ps'), { code: 2, stderr: /expected unix/ });
});

await t.test('no such pod or container: exit code 3', async (t) => {
  const { line } = await withPod(t);
  t.match(await line.run('pod', 'inspect', 'none'), { code: 3, stderr: 'criquet: there is no pod "none"\n' });
  t.match(await line.run('pod', 'logs', 'p', '-c', 'z'), { code: 3, stderr: /has no container "z"; its containers: a, b/ });
  t.match(await line.run('pod', 'stop', 'none'), { code: 3 });
});

await t.test('inspect', async (t) => {
  const { line } = await withPod(t);
  t.match(JSON.parse((await line.run('pod', 'inspect', 'p')).stdout), { name: 'p', namespace: 'default', phase: 'Running', sandbox: { attempt: 0 } });
  t.match((await line.run('pod', 'inspect', 'default/p', '-o', 'table')).stdout, /^pod default\/p is Running/);
  t.match((await line.run('pod', 'inspect', 'p', '-o', 'yaml')).stdout, /^phase: Running$/m);
});

await t.test('exec: streams, exit code, usage', async (t) => {
  const { line } = await withPod(t);
  const seen: string[] = [];
  line.cri.exec = (name, command) => {
    seen.push([name, ...command].join(' '));
    return { stdout: Buffer.from('out'), stderr: Buffer.from('err'), exitCode: 42 };
  };
  t.same(await line.run('pod', 'exec', 'p', '--', 'ls', '-l', '--', 'x'), { code: 42, stdout: 'out', stderr: 'err' });
  t.equal((await line.run('pod', 'exec', '-c', 'b', 'p', 'ls', '-c')).code, 42);
  t.same(seen, ['a ls -l -- x', 'b ls -c']);
  t.match(await line.run('pod', 'exec', '-it', 'p', '--', 'sh'), { code: 2, stderr: /interactive exec \(-i, -t\) is not available yet/ });
  t.equal((await line.run('pod', 'exec', 'p')).code, 2);
  line.cri.failNext('ExecSync', new CriCallError('ExecSync', 4, 'took too long'));
  t.equal((await line.run('pod', 'exec', '--timeout', '1s', 'p', '--', 'sleep')).code, 4);
  t.equal(line.cri.calls.findLast(({ call }) => call === 'ExecSync')?.request.timeout, 1n);
});

await t.test('exec of what cannot be run: 127 and 126 as of a shell, and what the runtime said', async (t) => {
  const { line } = await withPod(t);
  // How runc and crun word it, as containerd, CRI-O and criquet pass it on.
  const cases: [details: string, code: number][] = [
    ['OCI runtime exec failed: exec failed: unable to start container process: exec: "nosuch": executable file not found in $PATH', 127],
    ['OCI runtime exec failed: exec failed: unable to start container process: exec: "/nosuch": stat /nosuch: no such file or directory', 127],
    ['executable file `nosuch` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command that was not found', 127],
    ['OCI runtime exec failed: exec failed: unable to start container process: exec: "/etc/passwd": permission denied', 126],
    ['OCI runtime exec failed: exec failed: unable to start container process: exec: "/etc": is a directory', 126],
    ['exec: "/notes": exec format error', 126],
    ['open /var/lib/x/config.json: no such file or directory', 1],
  ];
  for (const [details, code] of cases) {
    line.cri.failNext('ExecSync', new CriCallError('ExecSync', 2, details), 1);
    t.same(await line.run('pod', 'exec', 'p', '--', 'nosuch'), { code, stdout: '', stderr: `criquet: ExecSync: UNKNOWN: ${details}\n` });
  }
});

await t.test('exec says when its output may be cut', async (t) => {
  const { line } = await withPod(t);
  const MiB = 2 ** 20;
  line.cri.exec = () => ({ stdout: Buffer.alloc(15 * MiB - 1, 'o'), stderr: Buffer.from('e'), exitCode: 0 });
  const full = await line.run('pod', 'exec', 'p', '--', 'cat');
  t.equal(full.stdout.length, 15 * MiB - 1);
  t.match(full, { code: 0, stderr: /^ecriquet: warning: the output has 15 MiB, .* it may be incomplete\n$/ });
  line.cri.exec = () => ({ stdout: Buffer.alloc(15 * MiB - 1, 'o'), stderr: Buffer.alloc(0), exitCode: 0 });
  t.equal((await line.run('pod', 'exec', 'p', '--', 'cat')).stderr, '');
});

await t.test('logs', async (t) => {
  const { line } = await withPod(t);
  const write = (name: string, text: string) => {
    const path = line.cri.latest(name)?.logPath as string;
    mkdirSync(dirname(path), { recursive: true });
    appendFileSync(path, text);
  };
  const T = '2024-01-01T00:00:00Z';
  write('a', `${T} stdout F one\n${T} stderr F two\n${T} stdout P thr\n${T} stdout F ee\n`);
  write('b', `${T} stdout F other\n`);
  t.same(await line.run('pod', 'logs', 'p'), { code: 0, stdout: 'one\nthree\n', stderr: 'two\n' });
  t.equal((await line.run('pod', 'logs', 'p', '--tail', '1')).stdout, 'three\n');
  t.equal((await line.run('pod', 'logs', 'p', '--tail', '1', '--timestamps')).stdout, `${T} three\n`);
  t.equal((await line.run('pod', 'logs', '-c', 'b', 'p')).stdout, 'other\n');
  t.equal((await line.run('pod', 'logs', '--all-containers', '--tail', '1', 'p')).stdout, '[a] three\n[b] other\n');
  t.match(await line.run('pod', 'logs', 'p', '--tail', 'x'), { code: 2, stderr: /Expected a number of lines/ });

  const following = line.run('pod', 'logs', '-f', '--all-containers', '--tail', '0', 'p');
  await sleep(100);
  write('b', `${T} stdout F later\n`);
  await sleep(100);
  line.cri.exit('a', 0);
  line.cri.exit('b', 0);
  t.same(await following, { code: 0, stdout: '[b] later\n', stderr: '' });
});

await t.test('a log that is not on this machine', async (t) => {
  const { line } = await withPod(t);
  t.match(await line.run('pod', 'logs', 'p'), { code: 1, stderr: /ENOENT/ });
});

await t.test('stop and rm', async (t) => {
  const { line } = await withPod(t);
  t.match(await line.run('pod', 'rm', 'p'), { code: 1, stderr: 'criquet: pod p is running; stop it first or use force\n' });
  const stopped = await line.run('pod', 'stop', 'p', '--grace', '0');
  t.equal(stopped.code, 0);
  t.match(stopped.stdout, /stop the pod: default\/p\n {5}StopContainer +(a|b)/);
  t.match(await line.run('pod', 'stop', 'p', '--grace', 'x'), { code: 2, stderr: /Expected a number of seconds/ });
  t.equal((await line.run('pod', 'rm', '-q', 'p')).stdout, '');
  t.equal(line.cri.sandboxes.size, 0);
  t.match(await line.run('pod', 'rm'), { code: 2, stderr: /missing required argument 'POD'/ });

  for (const name of ['one', 'two']) {
    line.stdin = manifestText(TWO, `name: ${name}`);
    await line.run('pod', 'run', '-q', '-');
  }
  const several = await line.run('pod', 'rm', '-f', '-q', 'one', 'none', 'two', 'nobody');
  t.equal(several.code, 3);
  t.equal(several.stderr, 'criquet: there is no pod "none"\ncriquet: there is no pod "nobody"\n');
  t.equal(line.cri.sandboxes.size, 0);
  line.stdin = manifestText(TWO);
  await line.run('pod', 'run', '-q', '-');
  t.equal((await line.run('pod', 'rm', '--all', '--force', '-q')).code, 0);
  t.equal(line.cri.sandboxes.size, 0);
});

await t.test('rm takes a pod that ps shows as Completed or Error', async (t) => {
  for (const [exitCode, word] of [[0, 'Completed'], [1, 'Error']] as const) {
    const dir = t.testdir({ 'p.yaml': manifestText('restartPolicy: Never\ncontainers: [{name: a, image: x}]') });
    const line = new CommandLine(dir);
    line.cri.behaviour.set('a', { exitCode });
    await line.run('pod', 'run', '-q', join(dir, 'p.yaml'));
    t.match((await line.run('pod', 'ps')).stdout, new RegExp(`p +0/1 +${word} `));
    t.same(await line.run('pod', 'rm', '-q', 'p'), { code: 0, stdout: '', stderr: '' });
    t.equal(line.cri.sandboxes.size, 0);
  }
});

await t.test('a file that changes is synced: only what changed is started anew', async (t) => {
  const { line, dir } = await withPod(t);
  writeFileSync(join(dir, 'p.yaml'), manifestText('containers: [{name: a, image: "x:1"}, {name: b, image: "x:1", args: [new]}]'));
  const { stdout } = await line.run('pod', 'run', join(dir, 'p.yaml'));
  t.match(stdout, /3\. kill containers that must not run: b: its definition changed/);
  t.match(stdout, /7\. start ordinary containers: b\n/);
  t.equal(line.cri.latest('a')?.metadata?.attempt, 0);
  t.equal(line.cri.latest('b')?.metadata?.attempt, 1);
});
