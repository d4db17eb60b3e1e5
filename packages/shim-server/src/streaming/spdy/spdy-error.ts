/** What a peer did against SPDY/3.1; the session ends. */
export class SpdyError extends Error {
  override readonly name = 'SpdyError';
}

/** Status of RST_STREAM (SPDY/3.1, section 2.6.3). */
export const ResetStatus = { protocolError: 1, refusedStream: 3, cancel: 5, internalError: 6, flowControlError: 7 } as const;
export type ResetStatus = (typeof ResetStatus)[keyof typeof ResetStatus];
