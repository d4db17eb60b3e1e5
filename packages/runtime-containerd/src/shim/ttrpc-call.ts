import { TtrpcConnection, type TtrpcCallOptions } from './ttrpc-connection.js';
import type { TtrpcRequest } from './ttrpc-message.js';

/**
 * One call on a connection of its own: what the shim does for it ends with the call, however that ends.
 *
 * @throws as {@link TtrpcConnection.call}
 */
export async function ttrpcCall(socketPath: string, request: TtrpcRequest, options: TtrpcCallOptions): Promise<Uint8Array> {
  const connection = new TtrpcConnection(socketPath);
  try {
    return await connection.call(request, options);
  } finally {
    connection.close();
  }
}
