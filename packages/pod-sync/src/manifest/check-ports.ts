import { formatPath, type FieldPath, type ProblemSink } from './field.js';
import type { ContainerPort, Pod } from './pod.js';

/** Reports ports that stand in one another's way: names within a container, and ports of the node within the pod. */
export function checkPorts({ spec }: Pod, sink: ProblemSink): void {
  const taken = new Map<string, string>();
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    spec[list].forEach((container, index) => {
      const path = ['spec', list, index, 'ports'];
      checkNames(container.ports, path, sink);
      container.ports.forEach((port, at) => {
        checkHostNetwork(port, spec.hostNetwork, [...path, at], sink);
        // An init container has ended before others begin.
        if (container.kind !== 'init') checkHostPort(port, spec.hostNetwork, [...path, at], taken, sink);
      });
    });
  }
}

function checkNames(ports: readonly ContainerPort[], path: FieldPath, sink: ProblemSink): void {
  ports.forEach(({ name }, index) => {
    if (name === undefined || name === '' || ports.findIndex((other) => other.name === name) === index) return;
    sink.error([...path, index, 'name'], `another port of this container is named ${JSON.stringify(name)}`);
  });
}

function checkHostNetwork(port: ContainerPort, hostNetwork: boolean, path: FieldPath, sink: ProblemSink): void {
  if (!hostNetwork || port.hostPort === 0 || port.hostPort === port.containerPort) return;
  sink.error([...path, 'hostPort'], `must be the containerPort, ${port.containerPort}, as hostNetwork is true`);
}

/** Kubernetes compares protocol, address and number as they are written. */
function checkHostPort(port: ContainerPort, hostNetwork: boolean, path: FieldPath, taken: Map<string, string>, sink: ProblemSink): void {
  const number = hostNetwork ? port.containerPort : port.hostPort;
  if (number === 0) return;
  const key = `${port.protocol} ${port.hostIP === '' ? '' : `${port.hostIP} `}${number}`;
  const other = taken.get(key);
  if (other === undefined) taken.set(key, formatPath(path));
  else sink.error([...path, port.hostPort === 0 ? 'containerPort' : 'hostPort'], `${key} is taken by ${other}`);
}
