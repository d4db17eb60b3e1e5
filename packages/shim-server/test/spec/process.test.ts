import { status } from '@grpc/grpc-js';
import t from 'tap';
import { processArgs, processCwd, processEnv } from '../../src/spec/process.js';
import { errorOf } from './fixtures.js';

void t.test('arguments: command and args of CRI over Entrypoint and Cmd of the image', (t) => {
  const image = { Entrypoint: ['/entry'], Cmd: ['image-arg'] };
  const args = (command: string[], args: string[]): string[] => processArgs({ command, args }, image);
  t.same(args([], []), ['/entry', 'image-arg']);
  t.same(args(['/run'], []), ['/run'], 'a command alone drops the image arguments');
  t.same(args([], ['a', 'b']), ['/entry', 'a', 'b'], 'args alone keep the entrypoint');
  t.same(args(['/run'], ['a']), ['/run', 'a']);
  t.same(processArgs({ command: [], args: [] }, { Entrypoint: null, Cmd: ['sh'] }), ['sh']);
  t.same(processArgs({ command: [], args: [] }, { Entrypoint: [''], Cmd: ['sh'] }), ['sh'], 'ENTRYPOINT [""] resets');
  t.end();
});

void t.test('arguments: nothing to run is an error that names the field', async (t) => {
  const error = await errorOf(() => processArgs({ command: [], args: [] }, {}));
  t.equal(error.code, status.INVALID_ARGUMENT);
  t.match(error.message, /config\.command: no command/);
  t.match((await errorOf(() => processArgs({ command: ['a\0b'], args: [] }, {}))).message, /NUL/);
});

void t.test('working directory: CRI, else image, else /', async (t) => {
  t.equal(processCwd({ workingDir: '/cri' }, { WorkingDir: '/image' }), '/cri');
  t.equal(processCwd({ workingDir: '' }, { WorkingDir: '/image' }), '/image');
  t.equal(processCwd({ workingDir: '' }, { WorkingDir: 'srv' }), '/srv');
  t.equal(processCwd({ workingDir: '' }, {}), '/');
  t.match((await errorOf(() => processCwd({ workingDir: 'relative' }, {}))).message, /config\.working_dir/);
});

void t.test('environment', async (t) => {
  const kv = (key: string, value: string) => ({ key, value: Buffer.from(value) });
  const options = { hostname: 'web-0', tty: false };

  void t.test('X4 PATH and HOME: an image without Env gets a default PATH, and no HOME', (t) => {
    t.same(processEnv({}, [], options), [
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      'HOSTNAME=web-0',
    ]);
    t.end();
  });
  void t.test('CRI goes over the image, the image over the defaults, each name once', (t) => {
    const env = processEnv(
      { Env: ['PATH=/image', 'A=1', 'HOSTNAME=h'] },
      [kv('A', '2'), kv('B', 'x=y'), kv('B', '')],
      options,
    );
    t.same(env, ['PATH=/image', 'HOSTNAME=h', 'A=2', 'B=']);
    t.end();
  });
  void t.test('a terminal has TERM unless told otherwise', (t) => {
    t.ok(processEnv({}, [], { ...options, tty: true }).includes('TERM=xterm'));
    t.ok(processEnv({ Env: ['TERM=dumb'] }, [], { ...options, tty: true }).includes('TERM=dumb'));
    t.end();
  });
  void t.test('an image entry without "=" takes the variable away', (t) => {
    t.same(processEnv({ Env: ['PATH', 'HOSTNAME'] }, [], options), []);
    t.end();
  });
  void t.test('bad names and values are named, values never shown', async (t) => {
    t.match((await errorOf(() => processEnv({}, [kv('', 'x')], options))).message, /config\.envs\[0\]\.key/);
    t.match(
      (await errorOf(() => processEnv({}, [kv('ok', ''), kv('a=b', 'x')], options))).message,
      /config\.envs\[1\]\.key/,
    );
    const error = await errorOf(() => processEnv({}, [kv('TOKEN', 'secret\0')], options));
    t.match(error.message, /config\.envs\[0\]\.value/);
    t.notMatch(error.message, /secret/);
  });
});
