import { status } from '@grpc/grpc-js';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { SourceProbe, type ProbedSource } from '../../src/spec/source-probe.js';
import { errorOf } from './fixtures.js';

/** A node whose file systems answer when told to. */
class SlowDisk {
  readonly asked: string[] = [];
  private readonly waiting = new Map<string, (source: ProbedSource) => void>();
  readonly look = (path: string): Promise<ProbedSource> => {
    this.asked.push(path);
    if (path.startsWith('/good')) return Promise.resolve({ path, created: false });
    return new Promise((resolve) => this.waiting.set(path, resolve));
  };
  unhang(path: string): void {
    this.waiting.get(path)?.({ path, created: false });
  }
}

void t.test('L4 slow create: a hanging source ends at the deadline, and retries share one look', async (t) => {
  const disk = new SlowDisk();
  const probe = new SourceProbe({}, disk.look);
  const attempt = () => {
    const call = new AbortController();
    setTimeout(() => call.abort(), 20);
    return errorOf(() => probe.resolve('config.mounts[0].host_path', '/fuse', call.signal));
  };
  for (const error of [await attempt(), ...(await Promise.all([attempt(), attempt()]))]) {
    t.equal(error.code, status.DEADLINE_EXCEEDED);
    t.match(error.message, /config\.mounts\[0\]\.host_path: .*"\/fuse" did not answer in time/);
  }
  t.same(disk.asked, ['/fuse'], 'one thread is held, not three');
  const last = probe.resolve('f', '/fuse');
  disk.unhang('/fuse');
  t.same(await last, { path: '/fuse', created: false });
  const again = probe.resolve('f', '/fuse');
  t.equal(disk.asked.length, 2, 'an answer is not kept');
  disk.unhang('/fuse');
  await again;
});

void t.test('L4 slow create: other sources are not affected, until too many hang', async (t) => {
  const disk = new SlowDisk();
  const probe = new SourceProbe({ maxHanging: 2, hangingAfterMs: 10 }, disk.look);
  const hanging = [probe.resolve('f', '/hang/1'), probe.resolve('f', '/hang/2')];
  t.same(await probe.resolve('f', '/good/1'), { path: '/good/1', created: false }, 'not hanging yet: only slow');
  await sleep(30);
  const error = await errorOf(() => probe.resolve('config.mounts[3].host_path', '/good/2'));
  t.equal(error.code, status.UNAVAILABLE);
  t.match(error.message, /config\.mounts\[3\]\.host_path.*"\/hang\/1", "\/hang\/2"/);
  disk.unhang('/hang/1');
  await hanging[0];
  t.ok(await probe.resolve('f', '/good/2'));
  disk.unhang('/hang/2');
  await hanging[1];
});

void t.test('a call that is over already does not wait', async (t) => {
  const probe = new SourceProbe({}, new SlowDisk().look);
  t.equal((await errorOf(() => probe.resolve('f', '/fuse', AbortSignal.abort()))).code, status.DEADLINE_EXCEEDED);
});

void t.test('an unknown failure keeps its code', async (t) => {
  const probe = new SourceProbe({}, () => Promise.reject(Object.assign(new Error('x'), { code: 'ESTALE' })));
  const error = await errorOf(() => probe.resolve('f', '/nfs'));
  t.equal(error.code, status.FAILED_PRECONDITION);
  t.match(error.message, /"\/nfs" cannot be used: ESTALE/);
});
