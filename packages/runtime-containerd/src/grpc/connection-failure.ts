/** How grpc-js words a call for which no connection could be made; the reason is Node's: `connect ECONNREFUSED /path`. */
const NOT_MADE = /^No connection established\. Last error: (?:Error: )?(.*?)\. Resolution note: /s;
/** How grpc-js words a call whose connection broke while it was under way. */
const LOST = /^(Connection dropped$|(read|write) E[A-Z]+)/;

/**
 * A sentence for a call that failed with UNAVAILABLE because of the connection; undefined when containerd itself answered so.
 * It tells an answer of UNAVAILABLE by the wording: grpc-js gives both the same code.
 */
export function connectionFailure(details: string, socketPath: string): string | undefined {
  const reason = NOT_MADE.exec(details)?.[1];
  if (reason !== undefined) return `cannot reach containerd at ${socketPath}: ${/\bE[A-Z]{3,}\b/.exec(reason)?.[0] ?? reason}`;
  return LOST.test(details) ? `the connection to containerd at ${socketPath} was lost` : undefined;
}
