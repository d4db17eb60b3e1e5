/** Container logs in CRI's format. */
export { ContainerLog, DEFAULT_MAX_LINE_BYTES, type ContainerLogOptions, type LogStream } from './container-log.js';
export { DropNotice } from './drop-notice.js';
export type { LogFileStats } from './log-file.js';
export { STREAM_NAMES, type StreamName } from './record-encoder.js';
export { resolveLogPath, prepareLogDirectory } from './log-path.js';
