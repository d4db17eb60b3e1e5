import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import { ContainerdError, type Containerd, type Exit } from '@criquet/runtime-containerd';
import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import type { EventStream } from '../../src/runtime/event-stream.js';
import { ProcessEnd } from '../../src/runtime/process-end.js';
import type { Shims } from '../../src/runtime/shims.js';

type Wait = (signal: AbortSignal) => Promise<Exit>;

const never: Wait = (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
const exit = (exitStatus: number): Wait => () => Promise.resolve({ pid: 0, exitStatus, exitedAt: 5n });
const refusal = (code: status): Wait => () => Promise.reject(new ContainerdError(code, 'wait', 'refused'));

/** Who was asked, in order, stands in `asked`. */
function waiting({ shim, containerd }: { readonly shim: Wait; readonly containerd: Wait }) {
  const asked: string[] = [];
  const events = new EventEmitter();
  const said = (who: string, wait: Wait, signal: AbortSignal) => {
    asked.push(who);
    return wait(signal);
  };
  const end = new ProcessEnd(
    { tasks: { wait: (_id: string, _execId: string, { signal }: { signal: AbortSignal }) => said('containerd', containerd, signal) } } as unknown as Containerd,
    events as unknown as EventStream,
    { wait: (_id: string, _execId: string, signal: AbortSignal) => said('shim', shim, signal) } as unknown as Shims,
  );
  return { asked, events, end };
}

test('on the shim: its answer is enough, whatever containerd knows', async (t) => {
  const { asked, end, events } = waiting({ shim: exit(7), containerd: refusal(status.NOT_FOUND) });
  t.same(await end.of('c1', { onShim: true }), { exitStatus: 7, exitedAt: 5n, known: true });
  t.same(asked, ['shim']);
  t.equal(events.listenerCount('exit'), 0, 'nobody listens any more');
});

test('on the shim: where it cannot be asked, or goes away, containerd is', async (t) => {
  for (const code of [status.NOT_FOUND, status.UNAVAILABLE, status.UNIMPLEMENTED]) {
    const { asked, end } = waiting({ shim: refusal(code), containerd: exit(3) });
    t.match(await end.of('c1', { onShim: true }), { exitStatus: 3, known: true });
    t.same(asked, ['shim', 'containerd']);
  }
});

test('on the shim: a killed one takes the code with it, but for what containerd announces', async (t) => {
  const killed = { shim: refusal(status.UNAVAILABLE), containerd: refusal(status.NOT_FOUND) };
  t.match(await waiting(killed).end.of('c1', { onShim: true }), { exitStatus: 255, known: false });
  const told = waiting(killed);
  const ended = told.end.of('c1', { onShim: true });
  told.events.emit('exit', { containerId: 'other', execId: '', exitStatus: 1, exitedAt: 9n });
  told.events.emit('exit', { containerId: 'c1', execId: '', exitStatus: 137, exitedAt: 9n });
  t.same(await ended, { exitStatus: 137, exitedAt: 9n, known: true });
});

test('else the shim is asked when containerd is away', async (t) => {
  const { asked, end } = waiting({ shim: exit(9), containerd: refusal(status.UNAVAILABLE) });
  t.match(await end.of('c1', { execId: 'e1' }), { exitStatus: 9, known: true });
  t.same(asked, ['containerd', 'shim']);
});

test('a signal ends the wait with its reason', async (t) => {
  for (const onShim of [true, false]) {
    const { end } = waiting({ shim: never, containerd: never });
    const controller = new AbortController();
    const ended = end.of('c1', { onShim, signal: controller.signal });
    controller.abort(new Error('enough'));
    await t.rejects(Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1_000))]), { message: 'enough' });
  }
});

test('of a process that is likely to end soon containerd tells by itself; where it does not, it is asked', async (t) => {
  const { asked, end, events } = waiting({ shim: never, containerd: exit(3) });
  const told = end.of('c1', { execId: 'e1', listenMs: 10_000 });
  events.emit('exit', { containerId: 'c1', execId: 'e1', exitStatus: 1, exitedAt: 9n });
  t.same(await told, { exitStatus: 1, exitedAt: 9n, known: true });
  t.same(asked, []);
  t.match(await end.of('c1', { execId: 'e2', listenMs: 5 }), { exitStatus: 3, known: true });
  t.same(asked, ['containerd']);
});
