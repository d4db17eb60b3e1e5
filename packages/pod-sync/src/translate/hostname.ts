import type { Pod } from '../manifest/pod.js';

/** Linux accepts host names of at most 63 characters. */
const MAX_LENGTH = 63;

/** The pod's host name and, for a pod with a subdomain, its domain (`web.default.svc.cluster.local`). */
export function podHostname(pod: Pod, clusterDomain: string): { hostname: string; domain: string } {
  const { hostname, subdomain, setHostnameAsFQDN } = pod.spec;
  const short = (hostname ?? pod.metadata.name).slice(0, MAX_LENGTH).replace(/[-.]+$/, '');
  const domain = subdomain === undefined ? '' : `${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}`;
  const full = domain === '' ? short : `${short}.${domain}`;
  return { hostname: setHostnameAsFQDN && full.length <= MAX_LENGTH + 1 ? full : short, domain };
}
