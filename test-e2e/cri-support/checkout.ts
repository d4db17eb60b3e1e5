import { resolve } from 'node:path';

/** The root of the checkout, from `test-e2e/dist/cri-support`. */
export const CHECKOUT = resolve(import.meta.dirname, '../../..');
