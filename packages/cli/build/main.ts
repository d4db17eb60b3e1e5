// Makes dist/bundle of the compiled packages: `pnpm build`, after tsc.
import { join } from 'node:path';
import { bundle } from './bundle.js';

await bundle(join(import.meta.dirname, '../../../..'), join(import.meta.dirname, '../bundle'));
