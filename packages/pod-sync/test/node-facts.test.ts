import { totalmem } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parseResolvConf, readNodeFacts } from '../src/node/node-facts.js';

await t.test('resolv.conf', async (t) => {
  const text = '# comment\nnameserver 192.0.2.1\nnameserver  2001:db8::1\nsearch a.test\nsearch b.test c.test .\noptions ndots:2 rotate\nsortlist x\nnameserver\n';
  t.same(parseResolvConf(text), {
    nameservers: ['192.0.2.1', '2001:db8::1'],
    searches: ['b.test', 'c.test'],
    options: ['ndots:2', 'rotate'],
  });
});

await t.test('facts of this machine', async (t) => {
  const dir = t.testdir({ 'resolv.conf': 'nameserver 192.0.2.7\n' });
  const facts = await readNodeFacts(join(dir, 'resolv.conf'));
  t.equal(facts.memoryCapacity, BigInt(totalmem()));
  t.ok(facts.cpuCount >= 1);
  t.ok(facts.hostIps.length >= 1);
  t.match(facts.nodeName, /^[^A-Z]+$/);
  t.same(facts.resolvConf.nameservers, ['192.0.2.7']);
  t.same((await readNodeFacts(join(dir, 'none'))).resolvConf, { nameservers: [], searches: [], options: [] });
});
