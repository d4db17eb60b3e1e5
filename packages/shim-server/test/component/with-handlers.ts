import type { CriquetConfig } from '../../src/config/index.js';

type Handlers = CriquetConfig['runtime']['handlers'];

/** The configuration with these handlers beside `runc`, each as `runc` is but for what differs. */
export function withHandlers(more: Readonly<Record<string, Partial<Handlers[string]>>>): (config: CriquetConfig) => CriquetConfig {
  return (config) => {
    const { runc } = config.runtime.handlers;
    if (runc === undefined) throw new Error('no runc');
    const handlers: Handlers = { runc, ...Object.fromEntries(Object.entries(more).map(([name, settings]) => [name, { ...runc, ...settings }])) };
    return { ...config, runtime: { ...config.runtime, handlers } };
  };
}
