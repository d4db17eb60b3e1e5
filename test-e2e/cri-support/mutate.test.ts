import t from 'tap';
import { component } from './facts.js';
import { mutate } from './mutate.js';
import type { Outcome } from './trial.js';

const COMMAND = component('streaming')('Exec runs the command that was asked for');

t.setTimeout(240_000);
t.test('a row is as it should be only when its test fails for want of its field', async (t) => {
  const outcomes: Record<string, Outcome> = {};
  const row = (dropped: string, test = COMMAND) => ({ name: dropped, dropped, test });
  const other = component('server')('the socket is for root and its group');
  const missing = component('streaming')('no such test');
  const rows = ['ExecRequest.cmd', 'RuntimeService.Exec', 'PodSandboxConfig.labels', 'ContainerConfig.labels', 'ExecRequest.nothing'].map((name) => row(name));
  await mutate([...rows, row('ExecRequest.tty', other), row('ExecResponse.url', missing)], 2, ({ name }, outcome) => (outcomes[name] = outcome));
  t.same(outcomes, {
    'ExecRequest.cmd': 'red',
    'RuntimeService.Exec': 'red',
    'PodSandboxConfig.labels': 'stayed green',
    'ContainerConfig.labels': 'is never on the wire',
    'ExecRequest.nothing': 'does not exist',
    'ExecRequest.tty': 'is never on the wire',
    'ExecResponse.url': 'runs no test',
  });
});
