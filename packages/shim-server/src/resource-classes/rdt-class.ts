import { failedPrecondition, invalidArgument } from '../errors.js';
import { pathExists } from '../runtime/path-exists.js';
import { annotatedClass, type AnnotatedContainer } from './annotated-class.js';

const ANNOTATIONS = {
  container: 'io.kubernetes.cri.rdt-class',
  pod: 'rdt.resources.beta.kubernetes.io/pod',
  podContainerPrefix: 'rdt.resources.beta.kubernetes.io/container.',
};

/** The name that goresctrl has for the class everything is in by default; to OCI it is "/". */
const ROOT_CLASS = 'system/default';

/**
 * The RDT class (cache and memory bandwidth, "class of service") of a container: OCI's `linux.intelRdt.closID`, undefined for none.
 *
 * Classes are directories of the node's resctrl file system. The daemon makes none: the administrator does, by hand or with a tool.
 *
 * @param resctrl where resctrl is mounted, other than `/sys/fs/resctrl` in tests.
 * @throws INVALID_ARGUMENT for what cannot be a class; FAILED_PRECONDITION where the node has no RDT (unless
 * `ignoreNotEnabled`), or not that class.
 */
export async function rdtClass(
  container: AnnotatedContainer,
  options: { ignoreNotEnabled: boolean },
  resctrl = '/sys/fs/resctrl',
): Promise<string | undefined> {
  const name = annotatedClass(ANNOTATIONS, container);
  if (name === undefined || name === '') return undefined;
  const shown = JSON.stringify(name);
  if (!(await pathExists(`${resctrl}/schemata`))) {
    if (options.ignoreNotEnabled) return undefined;
    throw failedPrecondition(`RDT class ${shown}: RDT is not enabled on this node, nothing is mounted on ${resctrl}`);
  }
  if (name === ROOT_CLASS) return '/';
  if (name.length >= 4096 || name === '.' || name === '..' || /[/\n\0]/.test(name)) {
    throw invalidArgument('RDT class', `${shown} is not the name of a class`);
  }
  if (!(await pathExists(`${resctrl}/${name}/schemata`))) throw failedPrecondition(`RDT class ${shown} does not exist in ${resctrl}`);
  return name;
}
