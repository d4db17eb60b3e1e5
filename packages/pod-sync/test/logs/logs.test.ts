import { appendFileSync, mkdirSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { followLog, parseLogRecord } from '../../src/index.js';
import { LogParser } from '../../src/logs/log-record.js';
import { readLogTail } from '../../src/logs/read-log.js';

const TIME = '2024-01-02T03:04:05.123456789Z';
const line = (text: string, stream = 'stdout', tag = 'F') => `${TIME} ${stream} ${tag} ${text}\n`;

await t.test('a record', async (t) => {
  t.same(parseLogRecord(Buffer.from(`${TIME} stderr F a  b`)), { time: TIME, stream: 'stderr', partial: false, content: Buffer.from('a  b\n') });
  t.same(parseLogRecord(Buffer.from(`${TIME} stdout P part`)), { time: TIME, stream: 'stdout', partial: true, content: Buffer.from('part') });
  t.same(parseLogRecord(Buffer.from(`${TIME} stdout F `))?.content, Buffer.from('\n'), 'an empty line');
  t.same(parseLogRecord(Buffer.from(`${TIME} stdout F`))?.content, Buffer.from('\n'));
  t.same(parseLogRecord(Buffer.from(`${TIME} stdout F:x text`))?.content, Buffer.from('text\n'), 'tags to come');
  for (const bad of ['', 'x', 'a b', `${TIME} stdin F x`, `${TIME} stdout X x`]) t.equal(parseLogRecord(Buffer.from(bad)), undefined, bad);
  const bytes = Buffer.concat([Buffer.from(`${TIME} stdout F `), Buffer.from([0, 0xff, 0x0d])]);
  t.same(parseLogRecord(bytes)?.content, Buffer.from([0, 0xff, 0x0d, 0x0a]), 'any byte');
});

await t.test('chunks that cut records', async (t) => {
  const data = Buffer.from(line('one') + line('two', 'stderr') + line('three'));
  for (const size of [1, 7, 64, 1000]) {
    const parser = new LogParser();
    const records = [];
    for (let at = 0; at < data.length; at += size) records.push(...parser.push(data.subarray(at, at + size)));
    t.same(records.map((record) => record.content.toString()), ['one\n', 'two\n', 'three\n'], `chunks of ${size}`);
  }
});

await t.test('the last lines', async (t) => {
  const big = 'x'.repeat(100_000);
  const path = join(t.testdir({ log: line('1') + line('2') + line('a', 'stdout', 'P') + line('b') + line(big) + line('end') }), 'log');
  const tail = async (count: number) => (await readLogTail(path, count)).map((record) => record.content.toString().slice(0, 10));
  t.same(await tail(0), []);
  t.same(await tail(1), ['end\n']);
  t.same(await tail(2), ['xxxxxxxxxx', 'end\n']);
  t.same(await tail(3), ['a', 'b\n', 'xxxxxxxxxx', 'end\n'], 'parts belong to one line');
  t.same(await tail(99), ['1\n', '2\n', 'a', 'b\n', 'xxxxxxxxxx', 'end\n']);
  await t.rejects(readLogTail(`${path}x`, 1), { code: 'ENOENT' });
});

await t.test('reads to the end without follow', async (t) => {
  const path = join(t.testdir({ log: line('a') + line('b') + 'no newline yet' }), 'log');
  const seen = [];
  for await (const record of followLog(path)) seen.push(record.content.toString());
  t.same(seen, ['a\n', 'b\n']);
  const last = [];
  for await (const record of followLog(path, { tail: 1 })) last.push(record.content.toString());
  t.same(last, ['b\n'], 'what is no record yet does not count');
});

await t.test('follows through rotation, truncation and the end', async (t) => {
  const dir = t.testdir({});
  mkdirSync(dir, { recursive: true });
  const path = join(dir, 'log');
  writeFileSync(path, line('0'));
  let ended = false;
  const seen: string[] = [];
  const following = (async () => {
    for await (const record of followLog(path, { follow: true, ended: async () => ended })) seen.push(record.content.toString().trim());
  })();
  const until = async (count: number) => {
    for (let i = 0; i < 200 && seen.length < count; i++) await sleep(10);
    t.equal(seen.length, count);
  };
  await until(1);
  appendFileSync(path, line('1'));
  await until(2);
  // Rotation: more into the old file after the rename, then the new one.
  renameSync(path, `${path}.1`);
  appendFileSync(`${path}.1`, line('2'));
  writeFileSync(path, line('3'));
  await until(4);
  truncateSync(path, 0);
  await sleep(100);
  appendFileSync(path, line('4'));
  await until(5);
  appendFileSync(path, line('5'));
  ended = true;
  await following;
  t.same(seen, ['0', '1', '2', '3', '4', '5']);
});

await t.test('a signal ends the follow', async (t) => {
  const path = join(t.testdir({ log: line('a') }), 'log');
  const stop = new AbortController();
  const seen = [];
  setTimeout(() => stop.abort(), 50);
  const begin = Date.now();
  for await (const record of followLog(path, { follow: true, signal: stop.signal })) seen.push(record);
  t.equal(seen.length, 1);
  t.ok(Date.now() - begin < 400, 'at once, not at the next look');
});
