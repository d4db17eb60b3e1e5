import { ServerInterceptingCall, type ServerInterceptingCallInterface, type ServerInterceptor } from '@grpc/grpc-js';

/**
 * Sends a unary call's reply and its status in one write to the socket. grpc-js itself waits until the reply has left before it sends the status: the caller
 * is woken twice for each call, and both sides pay for it.
 */
export const oneWriteReplies: ServerInterceptor = (method, call) =>
  method.responseStream ? new ServerInterceptingCall(call) : new OneWriteCall(call);

/** Passes everything on as it is, without the listeners and queues of an interceptor that looks at messages. */
class OneWriteCall extends ServerInterceptingCall {
  constructor(private readonly call: ServerInterceptingCallInterface) {
    super(call);
  }

  override start(listener: Parameters<ServerInterceptingCallInterface['start']>[0]): void {
    this.call.start(listener);
  }

  override sendMetadata(metadata: Parameters<ServerInterceptingCallInterface['sendMetadata']>[0]): void {
    this.call.sendMetadata(metadata);
  }

  /** `sent` is where the status of a unary call is sent. */
  override sendMessage(message: unknown, sent: () => void): void {
    this.call.sendMessage(message, () => undefined);
    sent();
  }

  override sendStatus(status: Parameters<ServerInterceptingCallInterface['sendStatus']>[0]): void {
    this.call.sendStatus(status);
  }
}
