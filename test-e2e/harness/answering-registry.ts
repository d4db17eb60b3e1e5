import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A registry that answers every request in one wrong way. */
export interface AnsweringRegistry {
  readonly url: string;
  /** Requests it was sent, `GET /v2/…`. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** Starts one on a loopback port. */
export async function startAnsweringRegistry(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<AnsweringRegistry> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    answer(request, response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Answers with a status and a registry's error body. */
export function withStatus(status: number): (request: IncomingMessage, response: ServerResponse) => void {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ errors: [{ code: 'TEST', message: `answered with ${status}` }] }));
  };
}
