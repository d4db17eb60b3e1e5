/** AppArmor: which profile a process runs under, and the default one. */
export { AppArmorProfiles } from './apparmor-profiles.js';
export { resolveAppArmor } from './resolve-apparmor.js';
