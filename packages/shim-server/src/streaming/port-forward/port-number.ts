/** 1 to 65535, or undefined. */
export function portNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** What clients of port-forward read on a connection's error stream. */
export function forwardError(port: number, podSandboxId: string, error: unknown): string {
  return `error forwarding port ${port} to pod ${podSandboxId}: ${error instanceof Error ? error.message : String(error)}`;
}
