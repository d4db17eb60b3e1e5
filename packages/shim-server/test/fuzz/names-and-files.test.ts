import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import * as fc from 'fast-check';
import { test, type Test } from 'tap';
import { ConfigError, loadConfig, renderConfig, renderDefaultConfig } from '../../src/config/index.js';
import { ShimError } from '../../src/errors.js';
import { asImageId, formatReference, parseReference } from '../../src/image/reference.js';
import { registryHosts } from '../../src/image/registry-hosts.js';
import { damaged } from './damaged.js';
import { hostileJson, hostileText } from './hostile.js';
import { fuzzing } from './parameters.js';

async function directory(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'criquet-fuzz-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** @returns the error when it is one of the shim's own with one of these codes, and throws any other */
function expected(error: unknown, ...codes: readonly status[]): void {
  if (!(error instanceof ShimError) || !codes.includes(error.code)) throw error;
}

const part = fc.oneof(fc.stringMatching(/^[a-z0-9]+(?:[._-][a-z0-9]+)*$/), fc.constantFrom('localhost', 'docker.io', 'quay.io:443', '[fd00::1]:5000', 'A', '..', '.', '-'), hostileText);
const references = fc.oneof(
  fc.tuple(fc.array(part, { minLength: 1, maxLength: 4 }), fc.oneof(fc.constant(''), hostileText.map((tag) => `:${tag}`), fc.constant(':1')), fc.oneof(fc.constant(''), fc.constant(`@sha256:${'a'.repeat(64)}`), hostileText.map((digest) => `@${digest}`))).map(
    ([parts, tag, digest]) => parts.join('/') + tag + digest,
  ),
  hostileText,
  // What makes an expression with nested repetitions run for ever.
  fc.tuple(fc.constantFrom('a', 'a-', 'a.', 'a_', 'a/', '-', '1:'), fc.constantFrom('!', '', '/A', '@')).map(([unit, end]) => unit.repeat(50_000) + end),
);

test('image references: a name of the grammar that reads back as itself, or INVALID_ARGUMENT, at once', (t) => {
  fc.assert(
    fc.property(references, (text) => {
      const began = performance.now();
      try {
        const reference = parseReference(text);
        const name = formatReference(reference);
        if (formatReference(parseReference(name)) !== name) throw new Error(`${name} does not read back`);
        // It becomes the name of a directory where registries' hosts are looked up.
        if (/[/\\\0\s]|^\.|\.\./.test(reference.domain) || reference.path.split('/').some((piece) => piece === '..' || piece === '')) throw new Error(`${name} is a path`);
      } catch (error) {
        expected(error, status.INVALID_ARGUMENT);
      }
      asImageId(text);
      if (performance.now() - began > 2_000) throw new Error(`it took ${performance.now() - began} ms`);
    }),
    fuzzing(600),
  );
  t.pass('all of them');
  t.end();
});

const HOSTS = 'server = "https://registry.test"\n\n[host."https://mirror.test:5000/v2"]\n  capabilities = ["pull", "resolve"]\n  ca = "/etc/ca.pem"\n  skip_verify = true\n  [host."https://mirror.test:5000/v2".header]\n    x-a = "b"\n';

test('hosts.toml of any content: hosts, or FAILED_PRECONDITION that names the file', async (t) => {
  const dir = await directory(t);
  await mkdir(join(dir, 'registry.test'));
  const values = fc.tuple(hostileText, hostileText).map(([server, host]) => `server = ${JSON.stringify(server)}\n[host.${JSON.stringify(host)}]\n`);
  const read = async (text: string) => {
    await writeFile(join(dir, 'registry.test', 'hosts.toml'), text);
    try {
      for (const host of await registryHosts(dir, 'registry.test')) if (/[/\s]/.test(host)) throw new Error(`host ${JSON.stringify(host)}`);
    } catch (error) {
      expected(error, status.FAILED_PRECONDITION);
      if (!(error as Error).message.includes('hosts.toml')) throw error;
    }
  };
  await fc.assert(fc.asyncProperty(fc.oneof(damaged(HOSTS), values, hostileText), read), fuzzing(150));
  t.pass('all of them');
});

/** The whole file with its comments off its keys, a part of it changed. */
const FULL = renderDefaultConfig().replace(/^#(\w+ = )/gm, '$1');

test('configuration files of any content: a configuration that reads back as it was, or a ConfigError', { timeout: 600_000 }, async (t) => {
  const dir = await directory(t);
  const path = join(dir, 'config.toml');
  const again = join(dir, 'again.toml');
  const keys = [...FULL.matchAll(/^(\w+) = /gm)].map(([, key]) => key ?? '');
  const tables = [...FULL.matchAll(/^\[([\w.]+)\]/gm)].map(([, table]) => table ?? '');
  const toml = fc.oneof(hostileText.map((text) => JSON.stringify(text)), hostileJson.map((value) => JSON.stringify(value)), fc.constantFrom('1', '-1', '0', 'true', '9223372036854775807', '1e400', 'nan', '1979-05-27', '"5m"', '"64Mi"', '[]', '{}'));
  const one = fc.tuple(fc.constantFrom('', ...tables), fc.oneof(fc.constantFrom(...keys), hostileText.map((text) => JSON.stringify(text))), toml).map(([table, key, value]) => `${table === '' ? '' : `[${table}]\n`}${key} = ${value}\n`);
  const load = async (text: string) => {
    await writeFile(path, text);
    try {
      const { config } = await loadConfig({ path });
      await writeFile(again, renderConfig(config));
      const { config: back } = await loadConfig({ path: again });
      if (JSON.stringify(back) !== JSON.stringify(config)) throw new Error('it reads back as another one');
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
    }
  };
  await fc.assert(fc.asyncProperty(fc.oneof({ weight: 3, arbitrary: one }, { weight: 1, arbitrary: damaged(FULL) }, { weight: 1, arbitrary: hostileText }), load), fuzzing(250));
  t.pass('all of them');
});
