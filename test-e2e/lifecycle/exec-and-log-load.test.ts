import { eventually } from '../harness/eventually.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { openDescriptors, residentBytes } from '../bench/resident-memory.js';
import { joinedLines } from '../harness/log-records.js';
import { CALL, TestPod } from '../harness/pods.js';

await onEachEngine(
  'many and large outputs',
  async (t, node) => {
    const { runtime } = node.cri;
    const pod = await TestPod.run(node);
    const pid = node.runtimePid ?? 0;

    const repetitions = process.env.CRIQUET_E2E_LONG === '1' ? 500 : 50;
    await t.test(`S1: exec that leaves a child behind, ${repetitions} times: answered after a bounded drain, nothing piles up`, async (t) => {
      const container = await pod.start();
      const cmd = ['sh', '-c', 'echo hi; sleep 3600 &'];
      // A time limit of 0 is none; the wait for the child is bounded all the same.
      const once = (timeout = 10n) => container.exec(cmd, timeout);
      t.match(await once(), { exitCode: 0, stdout: 'hi\n' });
      t.match(await once(0n), { exitCode: 0, stdout: 'hi\n' });
      const files = () => node.filesBelow('criquet-state');
      const [descriptors, memory, before] = [await openDescriptors(pid), await residentBytes(pid), await files()];
      for (let turn = 0; turn < repetitions / 10; turn++) {
        const started = Date.now();
        const replies = await Promise.all(Array.from({ length: 10 }, () => once()));
        t.strictSame(
          replies.filter(({ stdout, exitCode }) => stdout !== 'hi\n' || exitCode !== 0),
          [],
        );
        t.ok(Date.now() - started < 6_000, `ten at once within ${Date.now() - started} ms`);
      }
      // A caller that does not wait.
      const gone = AbortSignal.timeout(50);
      await t.rejects(runtime.execSync({ containerId: container.id, cmd: ['sh', '-c', 'sleep 1; sleep 3600 &'], timeout: 0n }, { ...CALL, signal: gone }));
      const { stdout } = await container.exec(['sh', '-c', 'pgrep sleep | wc -l']);
      t.ok(Number(stdout) > repetitions, `the children are left alone: ${stdout.trim()} of them`);
      await eventually(async () => {
        const now = await openDescriptors(pid);
        if (now > descriptors + 5) throw new Error(`${descriptors} descriptors before, ${now} now`);
        const more = (await files()).filter((name) => !before.includes(name));
        if (more.length > 0) throw new Error(`files are left: ${more.join(', ')}`);
      }, 30_000);
      t.ok((await residentBytes(pid)) < memory + 40 * 1024 * 1024);
      await container.remove();
    });

    await t.test('S2: endless output, ten at once: the reply stays below 16 MiB, the time limit holds, memory comes back', async (t) => {
      const container = await pod.start();
      const started = Date.now();
      const replies = await Promise.allSettled(
        Array.from({ length: 10 }, () =>
          runtime.execSync({ containerId: container.id, cmd: ['sh', '-c', 'cat /dev/zero & cat /dev/zero >&2'], timeout: 3n }, CALL),
        ),
      );
      t.ok(Date.now() - started < 30_000, `${Date.now() - started} ms`);
      t.ok(replies.every(({ status }) => status === 'rejected'), 'DEADLINE_EXCEEDED');
      const whole = await runtime.execSync(
        { containerId: container.id, cmd: ['sh', '-c', 'head -c 20000000 /dev/zero; head -c 20000000 /dev/zero >&2'], timeout: 30n },
        CALL,
      );
      t.equal(whole.exitCode, 0, 'the process is not blocked by the cap');
      const size = whole.stdout.length + whole.stderr.length;
      t.ok(size > 1_000_000 && size < 16 * 1024 * 1024, `${size} bytes in both streams together`);
      await container.remove();
    });

    await t.test('G1: two loops at full speed and odd lines: every record is of one stream, parts join byte for byte', async (t) => {
      const script = `
        (i=0; while [ $i -lt 60 ]; do i=$((i+1)); head -c $((i*3000)) /dev/zero | tr '\\0' o; echo; done) &
        (i=0; while [ $i -lt 60 ]; do i=$((i+1)); head -c $((i*3000)) /dev/zero | tr '\\0' e >&2; echo >&2; done) &
        wait
        for n in 16383 16384 16385; do head -c $n /dev/zero | tr '\\0' n; echo; done
        printf 'cr\\r\\n'; printf 'no newline'`;
      const container = await pod.script(script);
      const log = await container.log();
      t.notOk(log.some(({ stream, text }) => /^[oe]+$/.test(text) && !text.startsWith(stream === 'stdout' ? 'o' : 'e')), 'nothing is mixed');
      const [out, err] = [joinedLines(log, 'stdout'), joinedLines(log, 'stderr')];
      const lengths = Array.from({ length: 60 }, (_, index) => (index + 1) * 3000);
      t.strictSame(out.slice(0, 60).map((line) => line.length), lengths);
      t.strictSame(err.map((line) => line.length), lengths);
      t.strictSame(out.slice(60, 63).map((line) => line.length), [16383, 16384, 16385]);
      t.equal(out[63], 'cr\r');
      t.equal(out[64], 'no newline');
      t.equal(log.filter(({ stream }) => stream === 'stdout').at(-1)?.tag, 'P', 'an unfinished last line is a part');
      await container.remove();
    });

    await pod.remove();
  },
  { only: 'criquet', engines: 'newest', logLevel: 'info' },
);
