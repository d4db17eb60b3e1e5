export type NetnsWork =
  | { readonly operation: 'create'; readonly path: string; readonly sysctls: Readonly<Record<string, string>> }
  | { readonly operation: 'release'; readonly path: string };

/** From the main thread to the worker. */
export type NetnsRequest = NetnsWork & { readonly id: number };

/** From the worker to the main thread; without `failure` the request succeeded. */
export interface NetnsReply {
  readonly id: number;
  readonly failure?: { readonly step: string; readonly code: string; readonly reason: string };
}
