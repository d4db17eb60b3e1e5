import type { Metadata, ServerInterceptingCallInterface, ServerMethodDefinition } from '@grpc/grpc-js';
import { RuntimeServiceService } from '@criquet/cri-api';
import { test } from 'tap';
import { oneWriteReplies } from '../../src/grpc/one-write-replies.js';

/** What reaches the call that writes to the stream; a message is never written out. */
function stalledCall() {
  const seen: string[] = [];
  const call = {
    start: () => seen.push('start'),
    sendMetadata: () => seen.push('metadata'),
    sendMessage: (message: string) => seen.push(`message ${message}`),
    sendStatus: ({ code }: { code: number }) => seen.push(`status ${code}`),
  };
  return { seen, call: call as unknown as ServerInterceptingCallInterface };
}

const method = (name: 'version' | 'streamContainers') => RuntimeServiceService[name] as unknown as ServerMethodDefinition<unknown, unknown>;

test('the status of a unary call does not wait until the reply has left', (t) => {
  const { seen, call } = stalledCall();
  const served = oneWriteReplies(method('version'), call);
  served.start({ onReceiveMetadata: (_: Metadata) => undefined, onReceiveMessage: () => undefined, onReceiveHalfClose: () => undefined, onCancel: () => undefined });
  served.sendMessage('reply', () => served.sendStatus({ code: 0, details: 'OK' }));
  t.same(seen, ['start', 'message reply', 'status 0']);
  t.end();
});

test('a stream goes on only when its message has left', (t) => {
  const { seen, call } = stalledCall();
  const served = oneWriteReplies(method('streamContainers'), call);
  let left = false;
  served.sendMessage('first', () => (left = true));
  t.same(seen, ['metadata', 'message first']);
  t.equal(left, false);
  t.end();
});
