import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Crictl } from '../crictl/crictl.js';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { TestPod } from '../harness/pods.js';

/** An HTTP server on one address, whose page is the port. */
const PAGE = (port: number, address: string) => `mkdir -p /tmp/www; echo -n page ${port} >/tmp/www/index.html; exec httpd -f -p ${address}:${port} -h /tmp/www`;

await onEachEngine('exec, attach and port-forward by crictl', async (t, node) => {
  const client = await Crictl.of(node);
  if (client === undefined) {
    t.comment('crictl is not there: it is built with Go, which this machine lacks');
    return;
  }
  const crictl = (args: string[], input?: string | Buffer) => client.withInput(args, input);

  const pod = await TestPod.run(node);
  const container = await pod.start();

  for (const transport of ['spdy', 'websocket']) {
    await t.test(`exec over ${transport}`, async (t) => {
      const exec = (...args: string[]) => crictl(['exec', '-r', transport, ...args]);
      const both = await exec(container.id, 'sh', '-c', 'echo out; echo err >&2; exit 42');
      t.equal(both.stdout, 'out\n');
      t.match(both.stderr, /err\n/);
      t.match(both.stderr, /exit code 42/, 'S5');
      const input = Buffer.alloc(8 * 1024 * 1024, 'abcdefg\n');
      const counted = await crictl(['exec', '-r', transport, '-i', container.id, 'wc', '-c'], input);
      t.equal(counted.stdout.trim(), String(input.length), 'stdin is half-closed after all of it');
      const output = await exec(container.id, 'sh', '-c', 'dd if=/dev/zero bs=64k count=200 2>/dev/null');
      t.equal(output.stdout.length, 200 * 64 * 1024);
      const began = Date.now();
      const background = await exec(container.id, 'sh', '-c', 'echo hi; sleep 20 &');
      t.equal(background.stdout, 'hi\n');
      t.ok(Date.now() - began < 10_000, 'S1: a child left behind is not waited for');
    });

    await t.test(`attach over ${transport}`, async (t) => {
      const once = await pod.start({ command: ['sh', '-c', 'while read line; do echo "got $line"; done; echo bye; exit 3'], stdin: true, stdinOnce: true });
      const { stdout, code } = await crictl(['attach', '-r', transport, '-i', once.id], 'one\ntwo\n');
      t.equal(stdout, 'got one\ngot two\nbye\n', 'S6: stdin_once closes the input, and output runs to the exit');
      t.equal(code, 0);
      t.equal((await once.exit()).exitCode, 3);
      t.same((await once.log()).map((record) => record.text), ['got one', 'got two', 'bye']);
    });

    await t.test(`port-forward over ${transport}: IPv4 and IPv6 in the pod, and in a pod on the host's network`, async (t) => {
      await pod.start({ command: ['sh', '-c', PAGE(7001, '127.0.0.1')] });
      await pod.start({ command: ['sh', '-c', PAGE(7002, '[::1]')] });
      const host = await TestPod.run(node, { linux: { securityContext: { namespaceOptions: { network: 2 } } } });
      const port = await freePort();
      await host.start({ command: ['sh', '-c', PAGE(port, '127.0.0.1')] });
      for (const [id, remote] of [[pod.id, 7001], [pod.id, 7002], [host.id, port]] as const) {
        // A client ends its whole session when nobody listens yet, so each attempt has one of its own.
        const ask = async () => {
          const local = await freePort();
          const session = client.start(['port-forward', '-r', transport, id, `${local}:${remote}`]);
          try {
            await session.printed('Forwarding from');
            const socket = connect({ host: '127.0.0.1', port: local });
            socket.on('error', () => undefined);
            socket.write('GET / HTTP/1.0\r\n\r\n');
            const answer = await text(socket);
            if (!answer.endsWith(`\r\n\r\npage ${remote}`)) throw new Error(`${remote}: ${JSON.stringify(answer)}`);
          } finally {
            session.child.kill('SIGKILL');
            await session.ended;
          }
        };
        await t.resolves(eventually(() => ask(), 20_000), `port ${remote}`);
      }
      await host.remove();
    });
  }

  await pod.remove();
});
