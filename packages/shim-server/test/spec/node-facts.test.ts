import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { readNodeFacts } from '../../src/spec/node-facts.js';

function tree(root: string, files: Record<string, string>): { proc: string; sys: string } {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return { proc: join(root, 'proc'), sys: join(root, 'sys') };
}

const STATUS = (eff: string, more = '') => `Name:\tx\nCapEff:\t${eff}\nCapBnd:\t000001ffffffffff\n${more}`;

void t.test('this machine', async (t) => {
  const facts = await readNodeFacts();
  t.ok(facts.capabilities.includes('CAP_CHOWN'));
  t.ok(facts.controllers.includes('memory'));
  t.equal(facts.seccompEnabled, true);
  t.equal(facts.cgroupDriver, 'cgroupfs');
  t.ok(facts.oomScoreAdjMin >= -1000 && facts.oomScoreAdjMin <= 1000);
});

void t.test('cgroup v1 without much', async (t) => {
  const memory = join(t.testdirName, 'memory');
  const paths = tree(t.testdir(), {
    'proc/self/status': STATUS('000001fffeffffff', 'Seccomp:\t0\n'),
    'proc/self/oom_score_adj': '100\n',
    'proc/self/mountinfo': `29 1 0:9 / /sys/fs/cgroup rw - tmpfs tmpfs ro,mode=755\n30 1 0:1 / ${memory} rw - cgroup cgroup rw,memory\n31 1 0:2 / /c rw - cgroup cgroup rw,cpu,cpuacct,name=x\n32 1 0:3 / /u rw - cgroup2 cgroup2 rw\n`,
    'sys/kernel/mm/hugepages/hugepages-2048kB/x': '',
    'sys/kernel/mm/hugepages/hugepages-1048576kB/x': '',
    'sys/kernel/mm/hugepages/hugepages-64kB/x': '',
    'sys/kernel/mm/hugepages/other': '',
  });
  const facts = await readNodeFacts({ ...paths, cgroupDriver: 'systemd' });
  t.match(facts, {
    cgroup: 'v1',
    cgroupDriver: 'systemd',
    cgroupMountOptions: ['ro', 'mode=755'],
    controllers: ['cpu', 'cpuacct', 'memory'],
    hugepageSizes: ['1GB', '2MB', '64KB'],
    swapAccounting: false,
    seccompEnabled: true,
    apparmorEnabled: false,
    selinuxEnabled: false,
    oomScoreAdjMin: 100,
    networkSysctls: { unprivilegedPortStart: false, pingGroupRange: false },
  });
  mkdirSync(memory);
  writeFileSync(join(memory, 'memory.memsw.limit_in_bytes'), '');
  t.equal((await readNodeFacts(paths)).swapAccounting, true);
});

void t.test('security modules and privileges', async (t) => {
  const facts = await readNodeFacts(
    tree(t.testdir(), {
      'proc/self/status': STATUS('000001ffffffffff'),
      'proc/self/oom_score_adj': '100\n',
      'proc/sys/net/ipv4/ip_unprivileged_port_start': '1024',
      'proc/sys/net/ipv4/ping_group_range': '1 0',
      'sys/module/apparmor/parameters/enabled': 'Y\n',
      'sys/kernel/security/apparmor/profiles': '',
      'sys/fs/selinux/enforce': '1',
    }),
  );
  t.match(facts, {
    seccompEnabled: false,
    apparmorEnabled: true,
    selinuxEnabled: true,
    oomScoreAdjMin: -1000,
    networkSysctls: { unprivilegedPortStart: true, pingGroupRange: true },
  });
  t.equal(facts.capabilities.length, 41);
});

void t.test('cgroup v2: controllers, and swap by the first cgroup that has memory', async (t) => {
  const unified = / (\/\S+) \S+ (?:\S+ )*- cgroup2 /.exec(readFileSync('/proc/self/mountinfo', 'utf8'))?.[1];
  if (unified === undefined) return void t.comment('no cgroup v2 is mounted here');
  const files = { 'proc/self/status': STATUS('0'), 'proc/self/cgroup': '0::/\n', 'sys/fs/x': '' };
  const paths = tree(t.testdir(), files);
  symlinkSync(unified, join(paths.sys, 'fs/cgroup'));
  const facts = await readNodeFacts(paths);
  t.equal(facts.cgroup, 'v2');
  const real = readFileSync(join(unified, 'cgroup.controllers'), 'utf8').split(/\s+/).filter(Boolean);
  t.same(facts.controllers, real);
  t.type(facts.swapAccounting, 'boolean');
  t.equal(facts.oomScoreAdjMin, 0);
});
