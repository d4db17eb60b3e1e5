import { deflateRawSync, deflateSync, inflateSync, constants } from 'node:zlib';
import { test } from 'tap';
import { HEADER_DICTIONARY } from '../../src/streaming/spdy/dictionary.js';
import { FrameParser } from '../../src/streaming/spdy/frame-parser.js';
import { dataHead, initialWindow, ping, ReplyWriter, rstStream } from '../../src/streaming/spdy/frame-writer.js';
import { HeaderReader, parseHeaders } from '../../src/streaming/spdy/header-reader.js';
import { controlFrame, dataFrame, words } from './support/spdy-client.js';

const hex = (text: string) => Buffer.from(text.replace(/ /g, ''), 'hex');

function frames(parser: FrameParser): unknown[] {
  const found = [];
  for (let frame = parser.next(); frame !== undefined; frame = parser.next()) found.push(frame);
  return found;
}

test('frames of the specification, whole and byte by byte', (t) => {
  const bytes = Buffer.concat([
    hex('80030006 00000004 00000007'), // PING 7
    hex('80030003 00000008 00000005 00000001'), // RST_STREAM 5, PROTOCOL_ERROR
    hex('00000003 01000002 6869'), // data of stream 3, FIN, "hi"
    hex('00000001 01000000'), // data of stream 1, FIN, empty
  ]);
  const whole = new FrameParser();
  whole.push(bytes);
  t.same(frames(whole), [
    { kind: 'control', type: 6, flags: 0, payload: words(7) },
    { kind: 'control', type: 3, flags: 0, payload: words(5, 1) },
    { kind: 'data', streamId: 3, chunk: Buffer.from('hi'), fin: true },
    { kind: 'data', streamId: 1, chunk: Buffer.alloc(0), fin: true },
  ]);
  const piecewise = new FrameParser();
  const found: unknown[] = [];
  for (const byte of bytes) {
    piecewise.push(Buffer.from([byte]));
    found.push(...frames(piecewise));
  }
  t.same(found.filter((frame) => (frame as { kind: string }).kind === 'control').length, 2);
  t.same(
    found.slice(2),
    [
      { kind: 'data', streamId: 3, chunk: Buffer.from('h'), fin: false },
      { kind: 'data', streamId: 3, chunk: Buffer.from('i'), fin: true },
      { kind: 'data', streamId: 1, chunk: Buffer.alloc(0), fin: true },
    ],
    'data is handed on as it comes, FIN with the last piece',
  );
  t.end();
});

test('what is no SPDY/3', (t) => {
  for (const [name, bytes] of [
    ['another version', hex('80020006 00000004 00000007')],
    ['a control frame above 64 KiB', hex('80030001 00010001')],
    ['data of stream 0', hex('00000000 00000001 00')],
  ] as const) {
    const parser = new FrameParser();
    parser.push(bytes);
    t.throws(() => parser.next(), { name: 'SpdyError' }, name);
  }
  t.end();
});

test('written frames', (t) => {
  t.same(dataHead(3, 2, true), hex('00000003 01000002'));
  t.same(dataHead(3, 0x012345, false), hex('00000003 00012345'));
  t.same(rstStream(5, 3), hex('80030003 00000008 00000005 00000003'));
  t.same(ping(7), hex('80030006 00000004 00000007'));
  t.same(initialWindow(0x7fffffff), hex('80030004 0000000c 00000001 00000007 7fffffff'));
  t.end();
});

test('replies: each block is complete by itself for an inflater that keeps its state', (t) => {
  const writer = new ReplyWriter();
  const replies = [writer.synReply(1), writer.synReply(3), writer.synReply(5)];
  let stream = Buffer.alloc(0);
  replies.forEach((reply, index) => {
    t.equal(reply.readUInt32BE(0), 0x8003_0002);
    t.equal(reply.readUIntBE(5, 3), reply.length - 8);
    t.equal(reply.readUInt32BE(8), index * 2 + 1);
    stream = Buffer.concat([stream, reply.subarray(12)]);
    t.same(inflateSync(stream, { finishFlush: constants.Z_SYNC_FLUSH }), Buffer.alloc(4 * (index + 1)), `${index + 1} empty blocks`);
    t.same(reply.subarray(-5), hex('000000ffff'), 'ends with an empty stored block');
  });
  t.end();
});

test('the dictionary', (t) => {
  t.equal(HEADER_DICTIONARY.length, 1423);
  t.same(HEADER_DICTIONARY.subarray(0, 11), hex('00000007 6f7074696f6e73'), 'begins with options and its length');
  t.ok(HEADER_DICTIONARY.toString().endsWith('charset=iso-8859-1,utf-,*,enq=0.'));
  // Adler-32 of the dictionary, which a zlib stream that uses it carries (RFC 1950): 0xe3c6a7c2 in every implementation.
  t.same(deflateSync(Buffer.from('x'), { dictionary: HEADER_DICTIONARY }).subarray(2, 6), hex('e3c6a7c2'));
  t.end();
});

const block = (headers: Record<string, string>) =>
  Buffer.concat([words(Object.keys(headers).length), ...Object.entries(headers).flat().map((text) => Buffer.concat([words(text.length), Buffer.from(text)]))]);

test('header blocks', async (t) => {
  t.same([...parseHeaders(block({ streamType: 'data', port: '80' }))], [['streamtype', 'data'], ['port', '80']]);
  for (const broken of [words(1), words(1, 9), Buffer.concat([words(1, 4), Buffer.from('port'), words(5)]), words(100_000)]) {
    t.throws(() => parseHeaders(broken), { name: 'SpdyError' });
  }
  const reader = new HeaderReader();
  const packed = deflateSync(block({ streamtype: 'error' }), { dictionary: HEADER_DICTIONARY, finishFlush: constants.Z_SYNC_FLUSH });
  t.equal((await reader.read(packed)).get('streamtype'), 'error');
  const more = deflateRawSync(block({ streamtype: 'stdin' }), { finishFlush: constants.Z_SYNC_FLUSH });
  t.equal((await reader.read(more)).get('streamtype'), 'stdin', 'the second block goes on with the same context');
  reader.close();
});

test('header blocks that are wrong or too large', async (t) => {
  await t.rejects(new HeaderReader().read(Buffer.from('not zlib')), { name: 'SpdyError' });
  const bomb = deflateSync(Buffer.alloc(10_000_000), { dictionary: HEADER_DICTIONARY });
  t.ok(bomb.length < 64 * 1024);
  await t.rejects(new HeaderReader().read(bomb), { name: 'SpdyError', message: /too large/ });
});

test('the helper of these tests writes what the specification shows', (t) => {
  t.same(controlFrame(6, 0, words(7)), hex('80030006 00000004 00000007'));
  t.same(dataFrame(3, Buffer.from('hi'), 1), hex('00000003 01000002 6869'));
  t.end();
});
