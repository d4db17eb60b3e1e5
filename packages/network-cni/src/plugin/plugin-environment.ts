/** The variables that plugins may need from the daemon's environment: the search path, time zone, proxies and CA files. */
export function pickPluginEnvironment(_env: NodeJS.ProcessEnv): Record<string, string> {
  throw new Error('to follow');
}
