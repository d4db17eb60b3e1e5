import { readFile } from 'node:fs/promises';
import { confTemplateValues, renderConfTemplate, writeConfList, type ConfigDirectory } from '@criquet/network-cni';
import type { UpdateRuntimeConfigRequest, UpdateRuntimeConfigResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { Token } from '../tokens.js';

/** The file that a template is rendered into; its name puts it before most others. */
const RENDERED_FILE = '10-criquet.conflist';

/**
 * CRI UpdateRuntimeConfig: the kubelet tells the node's pod CIDR. With `cni.conf_template` set a network configuration is rendered
 * from it, unless somebody else's configuration is there already.
 */
@scoped(Lifecycle.ContainerScoped)
export class UpdateRuntimeConfig {
  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.NetworkConfig) private readonly network: ConfigDirectory,
  ) {}

  readonly handle: UnaryCall<UpdateRuntimeConfigRequest, UpdateRuntimeConfigResponse> = async ({ runtimeConfig }, { log }) => {
    const podCidr = runtimeConfig?.networkConfig?.podCidr ?? '';
    const { confTemplate, confDir } = this.config.cni;
    if (podCidr === '' || confTemplate === '') return {};
    const present = this.network.current().list;
    if (present !== undefined && !present.file.endsWith(`/${RENDERED_FILE}`)) {
      log.info({ file: present.file }, 'a network configuration is there; the template is not used');
      return {};
    }
    const template = await readFile(confTemplate, 'utf8').catch((error: unknown) => {
      throw failedPrecondition(`cni.conf_template: ${(error as Error).message}`);
    });
    const file = await writeConfList(confDir, RENDERED_FILE, renderConfTemplate(template, cidrValues(podCidr), confTemplate));
    await this.network.refresh();
    log.info({ file, podCidr }, 'network configuration rendered');
    return {};
  };
}

function cidrValues(podCidr: string): ReturnType<typeof confTemplateValues> {
  try {
    return confTemplateValues(podCidr);
  } catch (error) {
    throw invalidArgument('runtime_config.network_config.pod_cidr', (error as Error).message);
  }
}
