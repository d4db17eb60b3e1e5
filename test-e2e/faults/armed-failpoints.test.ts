import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { status } from '@grpc/grpc-js';
import { test, type Test } from 'tap';
import { eventually } from '../harness/eventually.js';
import { ArmedFailpoints } from './armed-failpoints.js';
import { FailpointFiles, type ArmedFailpoint, type FailpointAction } from './failpoint-file.js';

const PLACE = 'StopContainer/kill the container';
const armed = (action: FailpointAction, change: Partial<ArmedFailpoint> = {}): ArmedFailpoint => ({ id: 'a', place: PLACE, moment: 'before', times: 'always', action, ...change });

async function failpoints(t: Test) {
  const directory = await mkdtemp(join(tmpdir(), 'criquet-failpoints-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const files = new FailpointFiles(directory);
  const kills: number[] = [];
  return { files, kills, start: () => new ArmedFailpoints(files, () => void kills.push(1)) };
}

test('nothing is armed at first, and what is armed is so for its place and moment only', async (t) => {
  const { files, kills, start } = await failpoints(t);
  const points = start();
  await points.reach(PLACE, 'before');
  files.writeArmed([armed({ do: 'kill' }, { moment: 'after' })]);
  await points.reach(PLACE, 'before');
  await points.reach('StopContainer/wait for its end', 'after');
  t.same([kills.length, files.readHits()], [0, []]);
  await points.reach(PLACE, 'after');
  t.same([kills.length, files.readHits()], [1, ['a']]);
});

test('a failure has the code that was asked for', async (t) => {
  const { files, start } = await failpoints(t);
  files.writeArmed([armed({ do: 'fail', code: status.UNAVAILABLE, message: 'not now' })]);
  await t.rejects(start().reach(PLACE, 'before'), { code: status.UNAVAILABLE, message: 'not now' });
});

test('once is once, also for the next daemon; always is always', async (t) => {
  const { files, kills, start } = await failpoints(t);
  files.writeArmed([armed({ do: 'kill' }, { times: 'once' })]);
  const points = start();
  for (let time = 0; time < 3; time++) await points.reach(PLACE, 'before');
  await start().reach(PLACE, 'before');
  t.equal(kills.length, 1);
  files.writeArmed([armed({ do: 'kill' }, { id: 'b' })]);
  for (let time = 0; time < 3; time++) await points.reach(PLACE, 'before');
  t.equal(kills.length, 4);
  t.same(files.readHits(), ['a', 'b', 'b', 'b']);
});

test('two that are armed once for one place catch two calls', async (t) => {
  const { files, kills, start } = await failpoints(t);
  files.writeArmed(['a', 'b'].map((id) => armed({ do: 'kill' }, { id, times: 'once' })));
  const points = start();
  for (let time = 0; time < 3; time++) await points.reach(PLACE, 'before');
  t.same([kills.length, files.readHits()], [2, ['a', 'b']]);
});

test('a call hangs until it is disarmed, a delay ends by itself', async (t) => {
  const { files, start } = await failpoints(t);
  files.writeArmed([armed({ do: 'hang' })]);
  let gone = false;
  const hanging = start().reach(PLACE, 'before').then(() => (gone = true));
  await eventually(() => t.same(files.readHits(), ['a']));
  await pause(50);
  t.notOk(gone);
  files.writeArmed([armed({ do: 'delay', milliseconds: 30 }, { id: 'b' })]);
  await hanging;
  const began = performance.now();
  await start().reach(PLACE, 'before');
  t.ok(performance.now() - began >= 29);
});

test('the program is the criquet command', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'criquet-failpoints-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const program = fileURLToPath(new URL('serve-with-failpoints.js', import.meta.url));
  const child = spawn(process.execPath, [program, '--version'], { env: { ...process.env, CRIQUET_FAILPOINTS: directory }, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (data: Buffer) => (said += data.toString()));
  const [code] = (await once(child, 'exit')) as [number];
  t.equal(code, 0);
  t.match(said, /\d+\.\d+\.\d+/);
});
