import { component, honoured, type MessageFacts } from '../facts.js';

const execSync = component('exec-sync');
const streaming = component('streaming');

const SYNC = execSync('output of both streams, exit code, and nothing left');
const EXEC = streaming('S5 exec over SPDY v4.channel.k8s.io: streams, half-close of stdin, exit code');
const STREAMS_ASKED = streaming('Exec: a stream that was not asked for carries nothing');
const TERMINAL = streaming('a terminal: the first size is there when the command starts, later ones follow');
const ATTACH = streaming('S6 attach: several clients see the output beside the log; stdin_once closes the input and output runs to the exit');
const FORWARD = streaming('port-forward over SPDY: half-close both ways, many at once, a port where nobody listens');

/** Commands in containers, and connections into pods. */
export const STREAMING = {
  ExecSyncRequest: {
    container_id: honoured('a running container', SYNC),
    cmd: honoured('not empty', SYNC),
    timeout: honoured('seconds, 0 is none; DeadlineExceeded, and the command is killed', execSync('timeout: DEADLINE_EXCEEDED, and the process is killed and deleted')),
  },
  ExecSyncResponse: {
    stdout: honoured('bounded together with stderr below what the kubelet accepts', SYNC),
    stderr: honoured('see stdout', SYNC),
    exit_code: honoured('the command\'s', SYNC),
  },
  ExecRequest: {
    container_id: honoured('a running container', EXEC),
    cmd: honoured('not empty', streaming('Exec runs the command that was asked for')),
    tty: honoured('a terminal with resize; not together with stderr', TERMINAL),
    stdin: honoured('a client may send input', EXEC),
    stdout: honoured('a client gets the output', STREAMS_ASKED),
    stderr: honoured('a client gets the errors', STREAMS_ASKED),
  },
  ExecResponse: { url: honoured('good once and for a minute', EXEC) },
  AttachRequest: {
    container_id: honoured('a running container', ATTACH),
    stdin: honoured('the container needs `stdin`', ATTACH),
    tty: honoured('as the container has it: resize; together with stderr for a client that has no terminal', streaming('S6 attach to a terminal with an immediate resize')),
    stdout: honoured('a client gets the output', ATTACH),
    stderr: honoured('a client gets the errors', ATTACH),
  },
  AttachResponse: { url: honoured('good once and for a minute', ATTACH) },
  PortForwardRequest: {
    pod_sandbox_id: honoured('a ready pod', FORWARD),
    port: honoured('of WebSocket channels; over SPDY each stream names its own', streaming('S4 port-forward over WebSocket v4.channel.k8s.io: channels by port')),
  },
  PortForwardResponse: { url: honoured('good once and for a minute', FORWARD) },
} satisfies MessageFacts;
