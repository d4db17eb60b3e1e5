// Makes dist/bundle of the compiled packages: `pnpm build`, after tsc.
import { join } from 'node:path';
import { bundle } from './bundle.js';
import { writeCodeCache } from './code-cache.js';

const root = join(import.meta.dirname, '../../../..');
await bundle(root, join(import.meta.dirname, '../bundle'));
await writeCodeCache(root);
