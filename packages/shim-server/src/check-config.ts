import { ConfigError, type ConfigProblem, type LoadedConfig } from './config/index.js';
import { readHandlerSettings } from './runtime/handler-settings.js';
import { CertificateFiles, requireCertificate } from './streaming/certificate.js';

/**
 * Checks of a configuration what the daemon would refuse at its start: options that need one another, and the files that they name. Only
 * what depends on containerd, on the kernel or on what is in use on the node is left to the start.
 *
 * @throws ConfigError with all problems at once
 */
export async function checkConfig({ config, sourceOf }: LoadedConfig): Promise<void> {
  const problems: ConfigProblem[] = [];
  const check = async (path: readonly string[], check: () => Promise<unknown>) => {
    try {
      await check();
    } catch (error) {
      problems.push({ source: sourceOf(path), message: (error as Error).message });
    }
  };
  for (const [name, settings] of Object.entries(config.runtime.handlers)) {
    await check(['runtime', 'handlers', name], () => readHandlerSettings(name, settings));
  }
  await check(['streaming'], () => checkCertificate(config.streaming));
  if (problems.length > 0) throw new ConfigError(problems);
}

async function checkCertificate(streaming: LoadedConfig['config']['streaming']): Promise<void> {
  requireCertificate(streaming);
  if (streaming.enableTls) await new CertificateFiles(streaming.certFile, streaming.keyFile).read();
}
