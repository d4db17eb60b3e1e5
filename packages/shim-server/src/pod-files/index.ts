/** What stands in the files of a pod that its containers see: `/etc/hosts`, `/etc/hostname`, `/etc/resolv.conf`. */
export { hostsFile, type PodHost } from './hosts.js';
export { hostnameFile, podHostname } from './hostname.js';
export { chooseNodeResolvConf, resolvConf } from './resolv-conf.js';
