// Waits until the API server says that the node NODE_NAME is Ready with criquet as its runtime; ends with 1 after four minutes.
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443', NODE_NAME: name } = process.env;
const TOKEN = process.env.TOKEN_FILE ?? '/var/run/secrets/kubernetes.io/serviceaccount/token';
const address = `${process.env.API_SCHEME ?? 'https'}://${host?.includes(':') ? `[${host}]` : host}:${port}/api/v1/nodes/${encodeURIComponent(name)}`;

/** Why the node does not count as ready; undefined when it does. */
async function notReady() {
  const token = (await readFile(TOKEN, 'utf8')).trim();
  const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(10_000) });
  if (!answer.ok) return `the API server answers ${answer.status}`;
  const { status } = await answer.json();
  const runtime = status?.nodeInfo?.containerRuntimeVersion ?? '';
  // Until the kubelet has reported once, this is the runtime before.
  if (!runtime.startsWith('criquet://')) return `its runtime is still ${runtime}`;
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? undefined : `it is not Ready: ${ready?.message ?? 'no condition'}`;
}

const end = Date.now() + Number(process.env.READY_SECONDS ?? 240) * 1000;
for (;;) {
  const reason = await notReady().catch((error) => String(error.cause ?? error));
  if (reason === undefined) break;
  if (Date.now() >= end) {
    console.error(`node ${name}: ${reason}`);
    process.exit(1);
  }
  await pause(2000);
}
