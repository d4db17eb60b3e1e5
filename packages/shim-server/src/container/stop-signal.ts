import { constants } from 'node:os';
import { Signal } from '@criquet/cri-api';
import { invalidArgument } from '../errors.js';

const SIGTERM = 15;
const SIGRTMIN = 34;
const SIGRTMAX = 64;

/** The signal that asks a container to end: CRI's stop_signal over the image's StopSignal over SIGTERM. */
export function stopSignalNumber(asked: Signal, imageStopSignal: string | undefined): number {
  if (asked !== Signal.RUNTIME_DEFAULT) {
    const name = Signal[asked];
    if (name === undefined) throw invalidArgument('config.stop_signal', `${asked} is no signal`);
    return criSignalNumber(name);
  }
  return imageStopSignal === undefined || imageStopSignal === '' ? SIGTERM : parse(imageStopSignal);
}

/** CRI's name for a signal's number, for ContainerStatus. */
export function criSignal(number: number): Signal {
  return byNumber().get(number) ?? Signal.RUNTIME_DEFAULT;
}

let signalsByNumber: ReadonlyMap<number, Signal> | undefined;

function byNumber(): ReadonlyMap<number, Signal> {
  if (signalsByNumber !== undefined) return signalsByNumber;
  const found = new Map<number, Signal>();
  for (const [name, value] of Object.entries(Signal)) {
    if (typeof value !== 'number' || value <= 0 || value >= 66) continue;
    const number = criSignalNumber(name);
    if (!found.has(number)) found.set(number, value);
  }
  return (signalsByNumber = found);
}

/** `SIGRTMINPLUS3`, `SIGRTMAXMINUS2`, `SIGTERM` … */
function criSignalNumber(name: string): number {
  return parse(name.replace(/PLUS(\d+)$/, '+$1').replace(/MINUS(\d+)$/, '-$1'));
}

/** An image's StopSignal: a name with or without `SIG`, `SIGRTMIN+3`, or a number. */
function parse(text: string): number {
  const name = text.trim().toUpperCase();
  if (/^\d+$/.test(name)) return inRange(Number(name), text);
  const realTime = /^(?:SIG)?RT(MIN|MAX)(?:([+-])(\d+))?$/.exec(name);
  if (realTime !== null) {
    const offset = Number(`${realTime[2] ?? '+'}${realTime[3] ?? '0'}`);
    return inRange((realTime[1] === 'MIN' ? SIGRTMIN : SIGRTMAX) + offset, text, SIGRTMIN);
  }
  const signals = constants.signals as Readonly<Record<string, number>>;
  const full = name.startsWith('SIG') ? name : `SIG${name}`;
  const number = signals[full] ?? (full === 'SIGCLD' ? signals.SIGCHLD : undefined);
  if (number === undefined) throw invalidArgument('stop signal', `${JSON.stringify(text)} is no signal`);
  return number;
}

function inRange(number: number, text: string, lowest = 1): number {
  if (number < lowest || number > SIGRTMAX) throw invalidArgument('stop signal', `${JSON.stringify(text)} is no signal`);
  return number;
}
