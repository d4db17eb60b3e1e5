import { run } from '../harness/run.js';
import { pod, shell } from './manifest.js';
import type { Topic } from './side-by-side.js';

/** /checkpoint writes an archive that `tar` and checkpointctl read, and the container goes on. */
export const checkpoints: Topic = async (t, side) => {
  if (side.machine.node.environment.criuDirectory === undefined) {
    t.pass('no CRIU that works with this kernel is to be had here');
    return;
  }
  await side.apply(pod('counts', { containers: [shell('main', 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.2; done')] }));
  await side.ready('counts');
  await side.lines('counts', 'main', 2);
  const { status, body } = await side.post(`/checkpoint/${side.path('counts', 'main')}`);
  t.equal(status, 200, body.toString());
  const [path = ''] = (JSON.parse(body.toString()) as { items: string[] }).items;
  t.match(path, /^\/var\/lib\/kubelet\/checkpoints\/checkpoint-counts-node_default-main-.*\.tar$/);
  const entries = (await run('tar', ['-tf', side.machine.room.outside(path)])).split('\n').map((entry) => entry.replace(/\/$/, ''));
  for (const entry of ['config.dump', 'spec.dump', 'checkpoint', 'rootfs-diff.tar', 'container.log']) t.ok(entries.includes(entry), entry);
  const before = (await side.lines('counts', 'main', 1)).length;
  await side.lines('counts', 'main', before + 3);
};
