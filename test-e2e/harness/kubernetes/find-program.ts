import { findTool, type Environment } from '../environment.js';

/** The path of a program of Kubernetes' or of etcd. Throws when it was not provided. */
export async function findProgram(environment: Environment, name: string): Promise<string> {
  const program = await findTool(environment, name);
  if (program === undefined) throw new Error(`${name} is not there: scripts/e2e --with kubelet, cluster, conformance or node provides it`);
  return program;
}
