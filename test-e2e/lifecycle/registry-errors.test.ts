import { status as code } from '@grpc/grpc-js';
import { startAnsweringRegistry, withStatus } from '../harness/answering-registry.js';
import { onEachEngine, type Test } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL } from '../harness/pods.js';
import { writeRegistryHosts } from '../harness/registry-hosts.js';

await onEachEngine(
  'registries that misbehave',
  async (t, node) => {
    const { image: images } = node.cri;
    /** Maps a host of its own to a registry, so that one that misbehaves is asked and no other. */
    const pull = async (host: string, url: string, timeoutMs = 30_000) => {
      await writeRegistryHosts(node.hostsDir, url, [host]);
      return images.pullImage({ image: { image: `${host}/some/image:1` } }, { timeoutMs });
    };
    const leavesNothing = async (t: Test, act: () => Promise<void>) => {
      const before = await node.state();
      await act();
      t.strictSame(await node.leaksSince(before), [], 'no lease, snapshot or file is left');
    };

    const answers: readonly [name: string, status: number, code: number, says: RegExp][] = [
      ['unauthorized', 401, code.UNAUTHENTICATED, /401|authori[sz]/i],
      ['forbidden', 403, code.PERMISSION_DENIED, /403|forbidden/i],
      ['absent', 404, code.NOT_FOUND, /not found/i],
      ['throttled', 429, code.RESOURCE_EXHAUSTED, /429|too many/i],
      ['broken', 500, code.UNKNOWN, /500|internal server error/i],
    ];
    for (const [name, status, expected, says] of answers) {
      await t.test(`answers ${status}`, async (t) => {
        const registry = await startAnsweringRegistry(withStatus(status));
        t.teardown(() => registry.close());
        await leavesNothing(t, async () => {
          const host = `${name}.criquet.test`;
          await t.rejects(pull(host, registry.url), { code: expected, details: says }, `code ${code[expected]}`);
          await t.rejects(pull(host, registry.url), { message: new RegExp(`${name}\\.criquet\\.test/some/image:1`) }, 'names the image');
          t.ok(registry.requests.length > 0, 'the registry was asked');
          t.equal((await images.imageStatus({ image: { image: `${host}/some/image:1` } }, CALL)).image, undefined);
        });
      });
    }

    await t.test('answers garbage', async (t) => {
      const registry = await startAnsweringRegistry((_request, response) => {
        response.writeHead(200, { 'content-type': 'application/vnd.oci.image.manifest.v1+json' });
        response.end('<html>not a manifest</html>');
      });
      t.teardown(() => registry.close());
      await leavesNothing(t, async () => {
        await t.rejects(pull('garbage.criquet.test', registry.url), { message: /garbage\.criquet\.test/ });
      });
    });

    await t.test('refuses the connection: RegistryUnavailable, as the kubelet knows it', async (t) => {
      const registry = await startAnsweringRegistry(withStatus(200));
      await registry.close();
      await leavesNothing(t, async () => {
        await t.rejects(pull('gone.criquet.test', registry.url), { code: code.UNKNOWN, details: /^RegistryUnavailable/ });
      });
    });

    await t.test('never answers: the caller\'s deadline ends the pull', async (t) => {
      const registry = await startAnsweringRegistry(() => undefined);
      t.teardown(() => registry.close());
      await leavesNothing(t, async () => {
        const started = Date.now();
        await t.rejects(pull('silent.criquet.test', registry.url, 1_500), { code: code.DEADLINE_EXCEEDED });
        t.ok(Date.now() - started < 5_000);
      });
      t.ok((await images.pullImage({ image: { image: BUSYBOX } }, CALL)).imageRef, 'another pull goes on');
    });

    await t.test('references that are none', async (t) => {
      for (const [image, says] of [
        ['', /image/i],
        ['registry.k8s.io/UPPER:1', /UPPER/],
        ['a b', /a b/],
        ['registry.k8s.io/x@sha256:123', /sha256:123/],
      ] as const) {
        await t.rejects(images.pullImage({ image: { image } }, CALL), { code: code.INVALID_ARGUMENT, details: says }, JSON.stringify(image));
      }
    });
  },
  { only: 'criquet' },
);
