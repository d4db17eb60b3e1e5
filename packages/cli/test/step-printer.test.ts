import { CriCallError } from '@criquet/cri-api';
import { SyncError, type SyncEvent } from '@criquet/pod-sync';
import t from 'tap';
import { StepPrinter } from '../src/pod/step-printer.js';

function printed(events: readonly SyncEvent[]): string[] {
  const lines: string[] = [];
  const printer = new StepPrinter((line) => lines.push(line));
  events.forEach(printer.handle);
  return lines.map((line) => line.trimEnd().replace(/ +/g, ' '));
}

const call = (pass: number, step: 'compute' | 'start-containers', name: 'ListContainers' | 'StartContainer', error?: Error): SyncEvent => ({
  type: 'call',
  pass,
  step,
  call: name,
  target: 'c',
  durationMs: 1,
  ...(error === undefined ? {} : { error }),
});
const look = (pass: number, idle: boolean): SyncEvent[] => [
  { type: 'step', pass, step: 'compute', detail: '' },
  call(pass, 'compute', 'ListContainers'),
  { type: 'plan', pass, idle },
];
const waiting = (pass: number): SyncEvent[] => [
  ...look(pass, false),
  { type: 'step', pass, step: 'start-containers', detail: 'c' },
  { type: 'waiting', pass, container: 'c', reason: 'CrashLoopBackOff', retryInMs: 100_000 },
];

await t.test('a first pass shows every step, an idle one nothing', async (t) => {
  t.same(printed([...look(1, false), { type: 'step', pass: 1, step: 'kill-sandbox', detail: '' }, { type: 'step', pass: 1, step: 'start-containers', detail: 'c' }]), [
    '1. compute sandbox and container changes',
    ' ListContainers c 1.0 ms',
    '2. kill the pod sandbox: nothing to do',
    '7. start ordinary containers: c',
  ]);
  t.same(printed([...look(1, true), ...look(2, true)]), []);
});

await t.test('a later pass shows what it does', async (t) => {
  const events: SyncEvent[] = [
    ...look(2, false),
    { type: 'step', pass: 2, step: 'kill-sandbox', detail: '' },
    { type: 'step', pass: 2, step: 'start-containers', detail: 'c' },
    call(2, 'start-containers', 'StartContainer', new CriCallError('StartContainer', 13, 'no')),
  ];
  t.same(printed(events), [
    '1. compute sandbox and container changes',
    ' ListContainers c 1.0 ms',
    '7. start ordinary containers: c',
    ' StartContainer c 1.0 ms FAILED: StartContainer: INTERNAL: no',
  ]);
});

await t.test('a wait is said once', async (t) => {
  const lines = printed([...waiting(2), ...waiting(3), ...waiting(4)]);
  t.equal(lines.filter((line) => line.includes('waits: CrashLoopBackOff, next try in 100.0 s')).length, 1);
  t.equal(lines.length, 4);
});

await t.test('a failure without a call is said once, one of a call by the call', async (t) => {
  const failure = (pass: number, cause: Error): SyncEvent => ({ type: 'failure', pass, step: 'create-sandbox', error: new SyncError('VolumeError', undefined, cause) });
  const lines = printed([
    ...look(1, false),
    failure(1, new Error('volume "v": gone')),
    ...look(2, false),
    failure(2, new Error('volume "v": gone')),
    failure(2, new CriCallError('RunPodSandbox', 13, 'no')),
  ]);
  t.same(lines.slice(2), [' FAILED: VolumeError: volume "v": gone']);
});

await t.test('stopping and removing', async (t) => {
  t.same(printed([{ type: 'step', pass: 0, step: 'stop', detail: 'default/p' }]), [' stop the pod: default/p']);
});
