import type { ContainerView, PodStatus } from '@criquet/pod-sync';
import { formatAge } from '../duration.js';
import { formatTable } from '../output/table.js';

/** What stands in kubectl's STATUS column. */
export function statusWord(status: PodStatus): string {
  const init = status.containers.filter((container) => container.kind === 'init');
  const done = init.filter((container) => container.state === 'terminated' && container.exitCode === 0);
  if (status.phase === 'Pending' && status.sandbox?.ready === false) return 'Stopped';
  if (status.phase === 'Pending' && done.length < init.length) return `Init:${done.length}/${init.length}`;
  if (status.phase === 'Succeeded') return 'Completed';
  if (status.phase === 'Failed') return 'Error';
  return status.phase;
}

/** `2/2`: ordinary containers that run, of all. */
export function readyCount(status: PodStatus): string {
  const ordinary = status.containers.filter((container) => container.kind === 'container');
  return `${ordinary.filter((container) => container.state === 'running').length}/${ordinary.length}`;
}

export function restarts(status: PodStatus): number {
  return status.containers.reduce((sum, container) => sum + container.restartCount, 0);
}

/** What `pod run` ends with: the pod in a line, its containers in a table. */
export function podSummary(status: PodStatus): string {
  const ips = status.ips.length === 0 ? '' : `, IP ${status.ips.join(' and ')}`;
  const rows = status.containers.map((view) => [view.name, view.kind, stateWord(view), String(view.restartCount), view.image]);
  const table = formatTable(['CONTAINER', 'KIND', 'STATE', 'RESTARTS', 'IMAGE'], rows);
  return `\npod ${status.namespace}/${status.name} is ${status.phase}${ips}\n\n${table}`;
}

/** `running 12s`, `terminated: Completed (0)`. */
export function stateWord(view: ContainerView): string {
  if (view.state === 'running' && view.startedAt !== undefined) return `running ${formatAge(view.startedAt)}`;
  if (view.state === 'terminated') return `terminated: ${view.reason ?? 'Unknown'} (${view.exitCode ?? '?'})`;
  return view.state;
}
