import { status } from '@grpc/grpc-js';
import { Signal } from '@criquet/cri-api';
import { test } from 'tap';
import { criSignal, stopSignalNumber } from '../../src/container/stop-signal.js';

// Numbers as in signal(7) for Linux; real-time signals begin at 34 for programs (nptl takes 32 and 33).
const images: readonly [string, number][] = [
  ['SIGTERM', 15], ['TERM', 15], ['sigterm', 15], [' SIGINT ', 2], ['SIGKILL', 9], ['SIGUSR1', 10], ['SIGUSR2', 12], ['SIGHUP', 1], ['SIGQUIT', 3],
  ['SIGWINCH', 28], ['SIGCLD', 17], ['SIGCHLD', 17], ['SIGPOLL', 29], ['SIGPWR', 30],
  ['15', 15], ['1', 1], ['64', 64], ['SIGRTMIN', 34], ['RTMIN', 34], ['SIGRTMIN+3', 37], ['SIGRTMIN+15', 49], ['SIGRTMAX', 64], ['SIGRTMAX-2', 62],
];
test('the StopSignal of an image', (t) => {
  for (const [text, number] of images) t.equal(stopSignalNumber(Signal.RUNTIME_DEFAULT, text), number, text);
  t.equal(stopSignalNumber(Signal.RUNTIME_DEFAULT, undefined), 15);
  t.equal(stopSignalNumber(Signal.RUNTIME_DEFAULT, ''), 15);
  t.end();
});

test('what is no signal is refused with its text', (t) => {
  for (const text of ['SIGNOTHING', '0', '65', '-1', '15x', 'SIGRTMIN+31', 'SIGRTMAX+1', 'SIGRTMIN-1', 'SIGRTMIN+x', '1.5']) {
    t.throws(() => stopSignalNumber(Signal.RUNTIME_DEFAULT, text), { code: status.INVALID_ARGUMENT, message: new RegExp(text.replace('+', '\\+')) }, text);
  }
  t.throws(() => stopSignalNumber(999 as Signal, undefined), { code: status.INVALID_ARGUMENT, message: /999/ });
  t.end();
});

test('CRI\'s own signal comes first, and every one of them is known both ways', (t) => {
  t.equal(stopSignalNumber(Signal.SIGUSR1, 'SIGINT'), 10);
  t.equal(stopSignalNumber(Signal.SIGRTMINPLUS3, undefined), 37);
  t.equal(stopSignalNumber(Signal.SIGRTMAXMINUS1, undefined), 63);
  for (const name of Object.keys(Signal).filter((key) => key.startsWith('SIG'))) {
    const asked = Signal[name as keyof typeof Signal];
    const number = stopSignalNumber(asked, undefined);
    t.equal(stopSignalNumber(criSignal(number), undefined), number, name);
  }
  t.equal(criSignal(15), Signal.SIGTERM);
  t.equal(criSignal(37), Signal.SIGRTMINPLUS3);
  t.equal(criSignal(0), Signal.RUNTIME_DEFAULT);
  t.end();
});
