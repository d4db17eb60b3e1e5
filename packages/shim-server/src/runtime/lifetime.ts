import { setMaxListeners } from 'node:events';

/**
 * An AbortController whose signal bounds any number of things at once; Node warns of a leak at the eleventh listener otherwise.
 */
export function lifetime(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
