import { pod, shell, STAY } from './manifest.js';
import type { Topic } from './side-by-side.js';

/** Root of the pod is nobody on the node, and still owns its volumes. */
export const userNamespaces: Topic = async (t, side) => {
  await side.apply(
    pod('user-namespace', {
      hostUsers: false,
      containers: [
        shell('main', `cat /proc/self/uid_map; stat -c %u /shared; touch /shared/mine && stat -c %u /shared/mine; cat /about/name; echo; ${STAY}`, {
          volumeMounts: [
            { name: 'shared', mountPath: '/shared' },
            { name: 'about', mountPath: '/about' },
          ],
        }),
      ],
      volumes: [
        { name: 'shared', emptyDir: {} },
        { name: 'about', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
      ],
    }),
  );
  const ready = await side.ready('user-namespace');
  const [map = '', ...rest] = await side.lines('user-namespace', 'main', 4);
  const [inside, outside, count] = map.trim().split(/\s+/).map(Number);
  t.equal(inside, 0);
  t.ok((outside ?? 0) >= 65_536 && count === 65_536, `a range of its own on the node: ${map.trim()}`);
  t.same(rest, ['0', '0', side.fullName('user-namespace')]);
  side.tell('pods/user-namespace', ready.status);
};
