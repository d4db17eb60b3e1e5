import type { Container } from '../manifest/pod.js';
import { milliValue, type Quantity } from '../manifest/quantity.js';
import type { NodeFacts } from '../node/node-facts.js';

/**
 * The amount that `resourceFieldRef` gives a variable: in units of the divisor, rounded up. A limit that is not set is what the
 * machine has, a request that is not set is the limit or 0, as with the kubelet.
 */
export function resourceFieldValue(container: Container, resource: string, divisor: Quantity | undefined, node: NodeFacts): string {
  const list = resource.slice(0, resource.indexOf('.'));
  const name = resource.slice(list.length + 1);
  const { limits, requests } = container.resources;
  const amount = list === 'limits' ? limits[name] : (requests[name] ?? limits[name]);
  const missing = list === 'limits' ? machineAmount(name, node) : 0n;
  const thousandths = amount === undefined ? missing : milliValue(amount);
  const given = divisor === undefined ? 0n : milliValue(divisor);
  const unit = given === 0n ? 1000n : given;
  return String((thousandths + unit - 1n) / unit);
}

function machineAmount(name: string, node: NodeFacts): bigint {
  if (name === 'cpu') return BigInt(node.cpuCount) * 1000n;
  return name === 'memory' ? node.memoryCapacity * 1000n : 0n;
}
