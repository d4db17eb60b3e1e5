import t from 'tap';
import { parseUlimit } from '../../src/spec/rlimits.js';

void t.test('limits as container engines write them', (t) => {
  t.same(parseUlimit('nofile=1024:4096'), { type: 'RLIMIT_NOFILE', soft: 1024, hard: 4096 });
  t.same(parseUlimit('core=0'), { type: 'RLIMIT_CORE', soft: 0, hard: 0 });
  const unlimited = 18446744073709551615n;
  t.same(parseUlimit('memlock=unlimited'), { type: 'RLIMIT_MEMLOCK', soft: unlimited, hard: unlimited });
  t.same(parseUlimit('nproc=100:-1'), { type: 'RLIMIT_NPROC', soft: 100, hard: unlimited });
  for (const text of ['', 'nofile', 'nofile=', 'nofile=x', 'nofile=2:1', 'nofile=-2', 'nofile=1:2:3', 'files=1', 'NOFILE=1', 'nofile=99999999999999999999', 'unlimited=1', 'nofile=unlimited:5']) {
    t.throws(() => parseUlimit(text), { message: /./ }, JSON.stringify(text));
  }
  t.end();
});
