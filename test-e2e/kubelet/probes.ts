import { eventually } from '../harness/eventually.js';
import { AGNHOST, pod, shell, STAY } from './manifest.js';
import { containerOf, isReady } from './pod-status.js';
import type { Topic } from './side-by-side.js';

/** A web server that answers when its page is there, which is after a second. */
const WEB = 'mkdir /www; cd /www; httpd -f -p 8080 & sleep 1; echo well >/www/healthz;';

/** Exec, TCP, HTTP and gRPC, for readiness, start-up and liveness. */
export const probes: Topic = async (t, side) => {
  await side.apply(
    pod('ready-by-exec', {
      containers: [shell('main', STAY, { readinessProbe: { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1, timeoutSeconds: 10 } })],
    }),
    pod('ready-by-http', {
      containers: [shell('main', `${WEB} ${STAY}`, { readinessProbe: { httpGet: { port: 8080, path: '/healthz' }, periodSeconds: 1, timeoutSeconds: 10 } })],
    }),
    pod('ready-by-tcp', {
      containers: [
        shell('main', `${WEB} ${STAY}`, { ports: [{ name: 'web', containerPort: 8080 }], readinessProbe: { tcpSocket: { port: 'web' }, periodSeconds: 1, timeoutSeconds: 10 } }),
      ],
    }),
    pod('ready-by-grpc', {
      containers: [{ name: 'main', image: AGNHOST, args: ['grpc-health-checking', '--port=5000'], readinessProbe: { grpc: { port: 5000 }, periodSeconds: 1, timeoutSeconds: 10 } }],
    }),
    pod('started-late', {
      containers: [
        shell('main', `sleep 3; touch /tmp/started; ${STAY}`, {
          startupProbe: { exec: { command: ['test', '-e', '/tmp/started'] }, periodSeconds: 1, failureThreshold: 100, timeoutSeconds: 10 },
          livenessProbe: { exec: { command: ['test', '-e', '/tmp/started'] }, periodSeconds: 2, failureThreshold: 1, timeoutSeconds: 10 },
        }),
      ],
    }),
    pod('not-alive', {
      containers: [
        shell('main', `test -e /shared/once && touch /tmp/alive; touch /shared/once; ${STAY}`, {
          volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
          livenessProbe: { exec: { command: ['test', '-e', '/tmp/alive'] }, periodSeconds: 1, failureThreshold: 2, timeoutSeconds: 10 },
        }),
      ],
      volumes: [{ name: 'shared', emptyDir: {} }],
    }),
    pod('probe-hangs', {
      containers: [
        shell('main', STAY, { readinessProbe: { exec: { command: ['sleep', '600'] }, periodSeconds: 1, timeoutSeconds: 1 } }),
        shell('main-2', STAY),
      ],
    }),
  );

  const waiting = await side.until('ready-by-exec', (pod) => containerOf(pod, 'main').started === true);
  t.equal(isReady(waiting), false, 'not ready before its probe says so');
  await side.run('ready-by-exec', 'main', 'touch', '/tmp/ready');
  for (const name of ['ready-by-exec', 'ready-by-http', 'ready-by-tcp', 'ready-by-grpc', 'started-late']) {
    const ready = await side.ready(name);
    t.equal(containerOf(ready, 'main').restartCount, 0, `${name} is ready, at its first start`);
    side.tell(`pods/${name}`, ready.status);
  }
  await side.run('ready-by-exec', 'main', 'rm', '/tmp/ready');
  await side.until('ready-by-exec', (pod) => !isReady(pod));

  const restarted = await side.until('not-alive', (pod) => isReady(pod) && containerOf(pod, 'main').restartCount === 1);
  t.match(containerOf(restarted, 'main').lastState, { terminated: { exitCode: 0, reason: 'Completed' } }, 'asked to end by TERM');
  side.tell('pods/not-alive', restarted.status);

  const hanging = await side.until('probe-hangs', (pod) => containerOf(pod, 'main-2').ready);
  t.equal(containerOf(hanging, 'main').ready, false);
  await eventually(async () => {
    const running = await side.run('probe-hangs', 'main', 'ps');
    if (/sleep 600\n(.*\n)*.*sleep 600/.test(running)) throw new Error(`a probe that ran out of time is ended: ${running}`);
  }, 20_000);
};
