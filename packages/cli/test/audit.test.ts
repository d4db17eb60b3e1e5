import type { auditNode, NodeAudit } from '@criquet/shim-server';
import t from 'tap';
import { CommandLine } from './harness.js';

const report: NodeAudit = {
  daemonPid: 7,
  holdings: [
    { kind: 'task', name: 'aa', owner: 'aa', state: 'owned' },
    { kind: 'netns', name: '/run/criquet/netns/criquet-bb', owner: 'bb', state: 'orphan' },
  ],
  problems: [],
};

function withAudit(dir: string, answer: NodeAudit | Error) {
  const asked: Parameters<typeof auditNode>[0][] = [];
  const line = new CommandLine(dir, {
    auditNode: (options) => {
      asked.push(options);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  });
  return { line, asked };
}

await t.test('a table of everything; 6 while something has no owner', async (t) => {
  const dir = t.testdir({ 'c.toml': 'state_dir = "/run/other"' });
  const { line, asked } = withAudit(dir, report);
  t.same(await line.run('audit', '--config', `${dir}/c.toml`, '--root-dir', '/r'), {
    code: 6,
    stdout: [
      'KIND    NAME                            OWNER   STATE',
      'task    aa                              aa      owned',
      'netns   /run/criquet/netns/criquet-bb   bb      orphan',
      '2 things of criquet, 1 without an owner',
      '',
    ].join('\n'),
    stderr: 'criquet: 1 without an owner\n',
  });
  t.match(asked, [{ clean: false, config: { stateDir: '/run/other', rootDir: '/r' } }], 'the configuration of serve');
  t.notMatch((await line.run('audit', '--config', `${dir}/c.toml`, '--orphans')).stdout, /owned/);
});

await t.test('0 when nothing is without an owner, or all of it was removed', async (t) => {
  const dir = t.testdir({ 'c.toml': '' });
  const [owned, orphan] = report.holdings;
  const clean = withAudit(dir, { holdings: [owned!], problems: [] });
  t.match(await clean.line.run('audit', '--config', `${dir}/c.toml`), { code: 0, stdout: /1 things of criquet, 0 without an owner/, stderr: '' });
  const cleaned = withAudit(dir, { holdings: [owned!, { ...orphan!, state: 'cleaned' }], problems: [] });
  t.match(await cleaned.line.run('audit', '--clean', '--config', `${dir}/c.toml`), { code: 0, stdout: /bb +cleaned\n2 things of criquet, 0 without an owner, 1 removed\n$/ });
  t.match(cleaned.asked, [{ clean: true, newContainerd: false }]);
  const failed = withAudit(dir, { holdings: [owned!, { ...orphan!, state: 'failed', error: 'EBUSY' }], problems: [] });
  t.match(await failed.line.run('audit', '--clean', '--config', `${dir}/c.toml`), { code: 6, stdout: /failed: EBUSY/ });
});

await t.test('1 when a kind, or everything, could not be looked at', async (t) => {
  const dir = t.testdir({ 'c.toml': '' });
  const partly = withAudit(dir, { ...report, problems: [{ kind: 'lease', error: 'no answer' }] });
  t.match(await partly.line.run('audit', '--config', `${dir}/c.toml`), { code: 1, stdout: /orphan\ncannot look at lease: no answer\n/, stderr: /could not look at lease/ });
  const not = withAudit(dir, new Error('containerd version: UNAVAILABLE: nobody there'));
  t.match(await not.line.run('audit', '--config', `${dir}/c.toml`), { code: 1, stdout: '', stderr: /nobody there/ });
  t.match(await not.line.run('audit', '--config', `${dir}/absent.toml`), { code: 2 });
  t.match(await not.line.run('audit', 'more'), { code: 2 });
});

await t.test('JSON for scripts', async (t) => {
  const dir = t.testdir({ 'c.toml': '' });
  const { line } = withAudit(dir, report);
  const shape = { version: 1, daemonPid: 7, anotherContainerd: false, counts: { owned: 1, orphan: 1, cleaned: 0, failed: 0 }, holdings: report.holdings, problems: [] };
  t.same(JSON.parse((await line.run('audit', '--json', '--config', `${dir}/c.toml`)).stdout), shape);
  t.same(JSON.parse((await line.run('audit', '--json', '--orphans', '--config', `${dir}/c.toml`)).stdout), { ...shape, holdings: [report.holdings[1]] });
  const none = withAudit(dir, { holdings: [], problems: [] });
  t.match(JSON.parse((await none.line.run('audit', '--json', '--config', `${dir}/c.toml`)).stdout), { daemonPid: null, holdings: [] });
});

await t.test('another containerd than the one that has the records is told', async (t) => {
  const dir = t.testdir({ 'c.toml': '' });
  const { line, asked } = withAudit(dir, { ...report, anotherContainerd: true });
  t.match(await line.run('audit', '--config', `${dir}/c.toml`), { code: 6, stdout: /\nthe records are in another containerd than this one, by which nothing has an owner\n2 things/ });
  t.match(JSON.parse((await line.run('audit', '--json', '--clean', '--new-containerd', '--config', `${dir}/c.toml`)).stdout), { anotherContainerd: true });
  t.match(asked, [{ clean: false, newContainerd: false }, { clean: true, newContainerd: true }]);
});
