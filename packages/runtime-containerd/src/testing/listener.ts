import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { ServerCredentials, type Server } from '@grpc/grpc-js';

export interface Listener {
  /** Drops all connections without a word, as the kernel does when a process is killed. */
  crash(): void;
}

/** Serves on a unix socket. The connections are our own, since a gRPC server's shutdown says goodbye on each of them. */
export async function listen(path: string, server: Server): Promise<Listener> {
  await rm(path, { force: true });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const connections = new Set<Socket>();
  const sockets = createServer((socket) => {
    connections.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => connections.delete(socket));
    injector.injectConnection(socket);
  });
  await new Promise<void>((resolve, reject) => {
    sockets.once('error', reject);
    sockets.listen(path, resolve);
  });
  return {
    crash() {
      sockets.close();
      for (const connection of connections) connection.destroy();
      injector.destroy();
      server.forceShutdown();
    },
  };
}
