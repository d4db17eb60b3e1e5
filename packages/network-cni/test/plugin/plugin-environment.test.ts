import t from 'tap';
import { pickPluginEnvironment } from '../../src/index.js';

t.test('takes what plugins need and nothing else', async (t) => {
  const picked = pickPluginEnvironment({
    PATH: '/bin',
    HTTPS_PROXY: 'http://proxy',
    TZ: 'UTC',
    NOTIFY_SOCKET: '/run/systemd/notify',
    LISTEN_FDS: '1',
    AWS_SECRET_ACCESS_KEY: 'secret',
    CNI_COMMAND: 'ADD',
    NODE_OPTIONS: '--inspect',
  });
  t.same(picked, { PATH: '/bin', HTTPS_PROXY: 'http://proxy', TZ: 'UTC' });
});

t.test('there is always a search path: plugins call iptables', async (t) => {
  t.match(pickPluginEnvironment({})['PATH'], /\/usr\/sbin/);
  t.match(pickPluginEnvironment({ PATH: '' })['PATH'], /\/sbin/);
});
