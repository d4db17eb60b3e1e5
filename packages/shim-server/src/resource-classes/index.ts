/** Classes that administrators define and pods name by annotation. */
export { blockIoClass, type BlockIoOptions } from './block-io-class.js';
export { rdtClass } from './rdt-class.js';
export type { AnnotatedContainer } from './annotated-class.js';
