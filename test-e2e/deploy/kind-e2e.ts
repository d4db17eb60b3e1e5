/* scripts/kind-e2e: its choice of specs, and what it says of a cluster that could not be created. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { readEnvironment } from '../harness/environment.js';
import { ScriptCheckout } from './script-checkout.js';

const environment = readEnvironment();

export async function kindScript(t: Test): Promise<void> {
  await t.test('each of its specs is one of the record of the conformance suite, or a few', async (t) => {
    const script = await readFile(join(environment.checkout, 'scripts/kind-e2e'), 'utf8');
    const list = /^SPECS=\(\n([\s\S]*?)\n\)$/m.exec(script)?.[1] ?? '';
    const specs = list.split('\n').map((line) => /^ {2}'(.*)'$/.exec(line)?.[1]);
    t.ok(specs.length > 10);
    const record = await readFile(join(environment.checkout, 'docs/conformance/all-containerd-2.4.tsv'), 'utf8');
    const names = record.split('\n').filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split('\t')[2] ?? '');
    for (const spec of specs) {
      t.type(spec, 'string');
      const found = names.filter((name) => new RegExp(`${spec ?? '^$'}.*\\[Conformance\\]`).test(name));
      t.ok(found.length >= 1 && found.length <= 10, `${spec ?? ''}: ${found.length}`);
    }
  });

  await t.test('a cluster that could not be created: nothing is named that is not there', async (t) => {
    const checkout = await ScriptCheckout.make(environment, t);
    await checkout.program('bin/kind', '[ "$1" != create ]');
    for (const keep of [[], ['--keep']]) {
      const { code, stderr } = await checkout.run('kind-e2e', '--smoke', '--image', 'some:image', ...keep);
      t.equal(code, 1);
      t.match(stderr, 'failed');
      for (const word of ['results/kind/logs', 'kubeconfig', 'stays']) t.notMatch(stderr, word);
    }
  });

  await t.test('a cluster that was created and failed', async (t) => {
    const checkout = await ScriptCheckout.make(environment, t);
    const made = join(checkout.directory, 'made');
    await checkout.program('bin/kind', `case $1 in create) : >"${made}" && echo config >"$KUBECONFIG"; exit 1 ;; get) [ ! -e "${made}" ] || echo criquet-e2e ;; export) mkdir -p "\${@: -1}" ;; esac`);
    const { code, stderr } = await checkout.run('kind-e2e', '--smoke', '--image', 'some:image', '--keep');
    t.equal(code, 1);
    t.match(stderr, join(checkout.directory, 'results/kind/logs'));
    t.match(stderr, join(checkout.directory, 'results/kind/kubeconfig'));
    t.equal(await readFile(join(checkout.directory, 'results/kind/kubeconfig'), 'utf8'), 'config\n');
  });
}
