import { createServer } from 'node:net';

/** A TCP port of an address, by default loopback, that nobody listens on at this moment. */
export function freePort(address = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, address, () => {
      const bound = server.address();
      server.close(() => {
        if (bound === null || typeof bound === 'string') reject(new Error('no port'));
        else resolve(bound.port);
      });
    });
  });
}
