import type { handleServerStreamingCall, handleUnaryCall } from '@grpc/grpc-js';
import type { DeepPartial, ImageServiceServer, RuntimeServiceServer } from './gen/runtime/v1/api.js';

/** What a caller may set for one call. */
export interface CriCallOptions {
  /** Cancels the call; the promise rejects with code CANCELLED. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the call fails with DEADLINE_EXCEEDED. Default: none. */
  readonly timeoutMs?: number;
}

type Call<Handler> =
  Handler extends handleUnaryCall<infer Request, infer Response>
    ? (request: DeepPartial<Request>, options?: CriCallOptions) => Promise<Response>
    : Handler extends handleServerStreamingCall<infer Request, infer Response>
      ? (request: DeepPartial<Request>, options?: CriCallOptions) => AsyncIterable<Response>
      : never;

type Calls<Server> = { [K in keyof Server as string extends K ? never : number extends K ? never : K]: Call<Server[K]> };

/** Every call of `runtime.v1.RuntimeService`; fields left out of a request have their proto3 default. */
export type RuntimeCalls = Calls<RuntimeServiceServer>;
/** Every call of `runtime.v1.ImageService`. */
export type ImageCalls = Calls<ImageServiceServer>;

/** Both CRI services of one endpoint. */
export interface CriClient {
  readonly runtime: RuntimeCalls;
  readonly image: ImageCalls;
}
