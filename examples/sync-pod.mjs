// Brings the pod of a manifest into being on any CRI runtime, keeps it by its restart policy, and removes it at Ctrl-C.
//
//   node examples/sync-pod.mjs examples/hello.yaml [unix:///run/criquet/criquet.sock]
//
// Without an endpoint: CONTAINER_RUNTIME_ENDPOINT, as crictl does. Needs root, for the volumes of pods, and a build (`pnpm build`).
// In a project of your own, import '@criquet/cri-api' and '@criquet/pod-sync' instead of using load().
import { readFile } from 'node:fs/promises';
import { load } from './load.mjs';

const { connectCri } = await load('cri-api');
const { formatProblem, ManifestError, parseManifest, PodSync, STEPS } = await load('pod-sync');

const [file, endpoint = process.env.CONTAINER_RUNTIME_ENDPOINT ?? 'unix:///run/criquet/criquet.sock'] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: node examples/sync-pod.mjs MANIFEST [ENDPOINT]');
  process.exit(2);
}

const interruption = new AbortController();
process.once('SIGINT', () => interruption.abort());
process.once('SIGTERM', () => interruption.abort());

const cri = connectCri({ endpoint });
const pods = new PodSync({
  cri,
  rootDir: process.env.CRIQUET_PODS_DIR ?? '/var/lib/criquet/kubelet',
  logRoot: process.env.CRIQUET_LOGS_DIR ?? '/var/log/pods',
  onEvent(event) {
    if (event.type === 'step' && event.detail !== '') console.log(`${STEPS[event.step].title}: ${event.detail}`);
    if (event.type === 'call' && event.step !== 'compute') {
      console.log(`  ${event.call} ${event.target}: ${event.durationMs.toFixed(1)} ms${event.error ? `, ${event.error.message}` : ''}`);
    }
    if (event.type === 'waiting') console.log(`  ${event.container} waits: ${event.reason}`);
  },
});

try {
  const { manifest, warnings } = parseManifest(await readFile(file, 'utf8'), file);
  for (const warning of warnings) console.warn(formatProblem(file, warning));
  const { namespace, name } = manifest.pod.metadata;

  const status = await pods.waitRunning(manifest, { failFast: true, signal: AbortSignal.any([interruption.signal, AbortSignal.timeout(120_000)]) });
  console.log(`${namespace}/${name} is ${status.phase}, IP ${status.ips[0] ?? 'none'}`);

  // Restarts what ends, until the pod as a whole has ended or Ctrl-C.
  const end = await pods.keep(manifest, { signal: interruption.signal }).catch(() => undefined);
  console.log(end === undefined ? 'interrupted' : `${namespace}/${name} has ended: ${end.phase}`);
  await pods.remove(`${namespace}/${name}`, { force: true });
} catch (error) {
  console.error(error instanceof ManifestError ? `not a manifest that can be run:\n${error.message}` : error.message);
  process.exitCode = 1;
} finally {
  cri.close();
}
