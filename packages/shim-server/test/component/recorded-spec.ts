import { decodeSpec, type RuntimeSpec } from '@criquet/runtime-containerd';
import { NAMESPACE, type Shim } from './shim-harness.js';

/** The runtime spec of a container or pause process, as containerd has it. */
export function recordedSpec(shim: Shim, id: string): RuntimeSpec {
  const spec = shim.containerd.state(NAMESPACE).containers.get(id)?.spec;
  if (spec === undefined) throw new Error(`${id} has no spec`);
  return decodeSpec(spec);
}
