import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

// A plugin is in the network namespace of the thread that starts it, whichever that is: all threads of this process' child are in one of its own, that stands for the host's.

const cases = fileURLToPath(new URL('./real-plugins-cases.js', import.meta.url));
const alone = process.getuid?.() === 0 ? ['unshare', '--net'] : [];
const [command = '', ...args] = [...alone, process.execPath, ...process.execArgv, cases];
process.exitCode = spawnSync(command, args, { stdio: 'inherit' }).status ?? 1;
