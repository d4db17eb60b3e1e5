/** What tests in other packages need of the daemon's inside: where it can be made to fail, wait or die. */
export { ShimError } from '../errors.js';
export type { Failpoints, Moment } from '../steps/failpoints.js';
export { allPlaces, CALL_STEPS, type Call, type Place } from '../steps/registry.js';
export { needOf, type Need } from '../steps/step-needs.js';
