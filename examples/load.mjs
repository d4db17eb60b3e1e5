/** A package of this checkout; in a project of your own that is `import { … } from '@criquet/NAME'`. */
export async function load(name) {
  try {
    return await import(`../packages/${name}/dist/src/index.js`);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.error('this checkout is not built: run pnpm install && pnpm build');
    process.exit(1);
  }
}
