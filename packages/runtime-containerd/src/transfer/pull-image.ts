import type { CallOptions } from '../call-options.js';
import { isCancelled } from '../errors.js';
import { onAbort } from '../grpc/on-abort.js';
import type { Content } from '../services/content.js';
import { newStreamId, type NamedStream, type Streaming } from '../services/streaming.js';
import type { Transfer } from '../services/transfer.js';
import { answerAuth } from './answer-auth.js';
import { decodeProgress, imageStoreDestination, registrySource } from './messages.js';
import type { PullRequest } from './pull-request.js';
import { PullStalled } from './pull-stalled.js';
import { StallWatch } from './stall-watch.js';

export interface PullServices {
  readonly transfer: Pick<Transfer, 'transfer'>;
  readonly streaming: Streaming;
  readonly content: Pick<Content, 'statuses'>;
}

/** How long the last progress messages may trail the end of the transfer. */
const PROGRESS_TAIL_MS = 1000;

/** `Transfer.pullImage`. */
export async function pullImage(
  services: PullServices,
  request: PullRequest,
  options: Pick<CallOptions, 'signal' | 'timeoutMs' | 'namespace'> = {},
): Promise<void> {
  const namespace = options.namespace === undefined ? {} : { namespace: options.namespace };
  const streamOptions: CallOptions = { lease: request.lease, ...namespace, ...linked(options.signal) };
  const streams: NamedStream[] = [];
  const open = async (purpose: string) => {
    const stream = await services.streaming.open(newStreamId(purpose), streamOptions);
    streams.push(stream);
    return stream;
  };
  // One controller ends the transfer for whatever reason comes first; the reason is what the caller gets.
  const abort = new AbortController();
  const stop = (reason: unknown) => abort.abort(reason);
  const detach = onAbort(options.signal, () => stop(options.signal?.reason));
  let watch: StallWatch | undefined;
  let ownFailure: Error | undefined;
  let credentialsFailure: Error | undefined;
  const fail = (error: Error) => {
    ownFailure ??= error;
    stop(error);
  };

  try {
    const progress = await open('progress');
    const auth = request.credentials === undefined ? undefined : await open('auth');
    watch = stallWatch(services, request, namespace, fail);
    const reading = readProgress(progress, request, watch).catch(fail);
    if (auth !== undefined && request.credentials !== undefined) {
      // The stream ends with `close` below, or with containerd, which then ends the transfer too.
      answerAuth(auth, request.credentials, (error) => (credentialsFailure ??= error)).catch(() => undefined);
    }
    await services.transfer.transfer(registrySource(request, auth?.id ?? ''), imageStoreDestination(request), {
      progressStream: progress.id,
      lease: request.lease,
      signal: abort.signal,
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
      ...namespace,
    });
    await Promise.race([reading, pause(PROGRESS_TAIL_MS)]);
  } catch (error) {
    if (ownFailure !== undefined) throw ownFailure;
    // The registry's refusal of an anonymous pull is only what followed from it.
    if (credentialsFailure !== undefined && !isCancelled(error)) throw credentialsFailure;
    throw error;
  } finally {
    watch?.stop();
    detach();
    // From here on an error of a stream says nothing about the pull.
    stop(undefined);
    for (const stream of streams) stream.close();
  }
}

function stallWatch(
  services: PullServices,
  request: PullRequest,
  namespace: { readonly namespace?: string },
  fail: (error: Error) => void,
): StallWatch | undefined {
  const { reference, noProgressTimeoutMs: limitMs } = request;
  if (limitMs === undefined) return undefined;
  return new StallWatch({
    limitMs,
    ingested: async () => {
      const statuses = await services.content.statuses([], { timeoutMs: limitMs, ...namespace });
      return statuses.map(({ ref, offset }) => `${ref}@${offset}`).join(' ');
    },
    onStall: (awaited) => fail(new PullStalled(reference, limitMs, awaited)),
  });
}

/** Reads to the end: unread messages would block the pull. An error that `onProgress` throws ends the pull. */
async function readProgress(stream: NamedStream, request: PullRequest, watch: StallWatch | undefined): Promise<void> {
  const messages = stream.messages[Symbol.asyncIterator]();
  for (;;) {
    // The stream's own failure is not the pull's: a restart of containerd fails the transfer too, with its reason.
    const next = await messages.next().catch(() => undefined);
    if (next === undefined || next.done) return;
    const progress = decodeProgress(next.value);
    if (progress === undefined) continue;
    watch?.update(progress);
    request.onProgress?.(progress);
  }
}

function linked(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

async function pause(ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
