/**
 * What plugins get of the daemon's environment. libcni passes all of it on, and with it whatever the service manager or an
 * administrator put there (NOTIFY_SOCKET, LISTEN_FDS, credentials); plugins need only these:
 */
const INHERITED = [
  'PATH', // iptables, nft, ipset, modprobe
  'HOME',
  'TMPDIR',
  'LANG',
  'LC_ALL',
  'TZ',
  'XTABLES_LOCKFILE',
  // plugins that talk to an API server or a cloud
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
] as const;

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The variables of `env` that plugins may need: search path, home, temporary directory, locale, time zone, proxies, CA files. */
export function pickPluginEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = env[name];
    if (value !== undefined) picked[name] = value;
  }
  picked['PATH'] ||= DEFAULT_PATH;
  return picked;
}
