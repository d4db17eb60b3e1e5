import * as fc from 'fast-check';
import { test } from 'tap';
import { stringify } from 'yaml';
import { ManifestError, parseManifest } from '../../src/index.js';

const wholeNumber = (name: string, fallback: number): number => Number(process.env[name] || fallback);
/** `scripts/fuzz` asks for more than CI does: up to ten times as many. */
const parameters = { numRuns: Math.max(1, Math.round(400 * Math.min(10, wholeNumber('CRIQUET_FUZZ_REQUESTS', 1_600) / 1_600))), seed: wholeNumber('CRIQUET_FUZZ_SEED', 20_260), endOnFailure: true };

const GOOD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'ns', labels: { a: 'b' }, annotations: { c: 'd' } },
  spec: {
    restartPolicy: 'Always',
    hostNetwork: false,
    terminationGracePeriodSeconds: 5,
    securityContext: { runAsUser: 1000, fsGroup: 2000, sysctls: [{ name: 'net.ipv4.ip_forward', value: '1' }], seccompProfile: { type: 'RuntimeDefault' } },
    volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Gi' } }, { name: 'h', hostPath: { path: '/tmp', type: 'Directory' } }, { name: 's', secret: { secretName: 's', items: [{ key: 'k', path: 'a/b', mode: 256 }] } }],
    initContainers: [{ name: 'init', image: 'busybox', command: ['true'] }],
    containers: [
      {
        name: 'app',
        image: 'registry.test/app:1',
        command: ['sh', '-c'],
        args: ['echo $(A)'],
        env: [{ name: 'A', value: 'x' }, { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        ports: [{ containerPort: 80, hostPort: 8080, protocol: 'TCP' }],
        resources: { limits: { cpu: '100m', memory: '64Mi' }, requests: { cpu: '50m' } },
        volumeMounts: [{ name: 'v', mountPath: '/data', subPath: 'a/b', readOnly: true }],
        lifecycle: { preStop: { exec: { command: ['x'] } } },
        securityContext: { capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] }, privileged: false, allowPrivilegeEscalation: false },
      },
    ],
  },
};
const SECRET = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'ns' }, data: { k: 'aGk=' } };

const texts = fc.oneof(
  fc.constantFrom('', ' ', '..', '/', '../../etc', 'a\0b', 'a\nb', '\u202e', '__proto__', 'constructor', '-1', '1e9', 'NaN', '0644', '1Ei', '-5m', '$(A)', '$$(A)', '&a', '*a', '!!binary', '=', 'x'.repeat(70_000)),
  fc.string({ unit: 'binary', maxLength: 30 }),
);
const values: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    texts,
    fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 65_536, 2 ** 31, 2 ** 53, -(2 ** 63), [], {}),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(texts, tie('value'), { maxKeys: 3 }),
  ),
})).value;

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function places(value: unknown, found: Place[] = []): Place[] {
  if (typeof value !== 'object' || value === null) return found;
  for (const key of Object.keys(value)) {
    found.push({ holder: value as Record<string, unknown>, key });
    places((value as Record<string, unknown>)[key], found);
  }
  return found;
}

const changed = fc.array(fc.tuple(fc.nat(200), values), { minLength: 1, maxLength: 3 }).map((changes) => {
  const manifest = structuredClone(GOOD);
  const all = places(manifest);
  for (const [at, value] of changes) {
    const place = all[at % all.length];
    if (place !== undefined) place.holder[place.key] = value;
  }
  return manifest;
});
const documents = fc.oneof(
  { weight: 4, arbitrary: changed.map((manifest) => JSON.stringify(manifest)) },
  { weight: 3, arbitrary: changed.map((manifest) => `${stringify(manifest)}---\n${stringify(SECRET)}`) },
  { weight: 2, arbitrary: fc.tuple(fc.nat(2_000), fc.string({ unit: 'binary', maxLength: 5 }), fc.nat(20)).map(([at, text, gap]) => stringify(GOOD).slice(0, at) + text + stringify(GOOD).slice(at + gap)) },
  { weight: 1, arbitrary: values.map((value) => JSON.stringify(value) ?? '') },
  { weight: 1, arbitrary: texts },
  // An alias for each of the one before: a few lines that would be terabytes.
  { weight: 1, arbitrary: fc.integer({ min: 5, max: 40 }).map((depth) => ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]', ...Array.from({ length: depth }, (_, index) => `a${index + 1}: &a${index + 1} [${Array(10).fill(`*a${index}`).join(',')}]`)].join('\n')) },
);

test('pod manifests of any content: one that can be run, or a ManifestError with a place and a reason, soon', (t) => {
  fc.assert(
    fc.property(documents, (text) => {
      const began = performance.now();
      try {
        const { manifest } = parseManifest(text, 'pod.yaml');
        const { name } = manifest.pod.metadata;
        if (!/^[a-z0-9][a-z0-9.-]*$/.test(name)) throw new Error(`name ${JSON.stringify(name)}`);
      } catch (error) {
        if (!(error instanceof ManifestError)) throw error;
      }
      if (performance.now() - began > 5_000) throw new Error(`it took ${performance.now() - began} ms`);
    }),
    parameters,
  );
  t.pass('all of them');
  t.end();
});
