export { StreamServer, type StreamServerOptions, type StreamTarget } from './stream-server.js';
export type { ListenerState } from './listener.js';
export type { AttachTarget, CommandStreams, ExecTarget, OutputStream, PortForwardTarget, StreamRuntime } from './stream-runtime.js';
export type { TerminalSize, TerminalSizes } from './remote-command/terminal-sizes.js';
