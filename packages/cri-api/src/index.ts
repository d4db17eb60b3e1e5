/** The CRI v1 messages, enums, service definitions and generated grpc-js stubs, as `proto/cri` declares them. */
export * from './gen/runtime/v1/api.js';
export { connectCri, type CriConnectOptions, type CriConnection } from './connect.js';
export { CriCallError, type CriCallErrorOptions } from './cri-call-error.js';
export { type CriCallOptions, type CriClient, type ImageCalls, type RuntimeCalls } from './cri-client.js';
