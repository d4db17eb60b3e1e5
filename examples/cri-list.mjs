// Lists the pods and containers of a CRI runtime.
//
//   node examples/cri-list.mjs [unix:///run/criquet/criquet.sock]
//
// Without an argument: CONTAINER_RUNTIME_ENDPOINT, as crictl does. Needs a build (`pnpm build`).
// In a project of your own, import '@criquet/cri-api' instead of using load().
import { load } from './load.mjs';

const { connectCri, ContainerState, CriCallError, PodSandboxState } = await load('cri-api');

const endpoint = process.argv[2] ?? process.env.CONTAINER_RUNTIME_ENDPOINT ?? 'unix:///run/criquet/criquet.sock';

const cri = connectCri({ endpoint });
try {
  const { runtimeName, runtimeVersion } = await cri.runtime.version({}, { timeoutMs: 5000 });
  console.log(`${runtimeName} ${runtimeVersion} on ${endpoint}`);

  const { items } = await cri.runtime.listPodSandbox({}, { timeoutMs: 5000 });
  for (const { id, metadata, state } of items) {
    console.log(`${metadata?.namespace}/${metadata?.name}  ${PodSandboxState[state]}  ${id.slice(0, 13)}`);
    const { containers } = await cri.runtime.listContainers({ filter: { podSandboxId: id } }, { timeoutMs: 5000 });
    for (const container of containers) {
      console.log(`  ${container.metadata?.name}  ${ContainerState[container.state]}  ${container.id.slice(0, 13)}`);
    }
  }
} catch (error) {
  if (!(error instanceof CriCallError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  cri.close();
}
