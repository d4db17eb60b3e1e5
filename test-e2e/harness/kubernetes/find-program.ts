import { findTool, type Environment } from '../environment.js';

/** The path of a program of Kubernetes' or of etcd. Throws when it was not provided. */
export async function findProgram(environment: Environment, name: string): Promise<string> {
  const program = await findTool(environment, name);
  if (program === undefined) throw new Error(`${name} is not there: CRIQUET_E2E_KUBERNETES=cluster provides it (scripts/lib/kubernetes.sh)`);
  return program;
}
