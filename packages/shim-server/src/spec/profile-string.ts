import { SecurityProfile_ProfileType as ProfileType, type SecurityProfile } from '@criquet/cri-api';
import { invalidArgument } from '../errors.js';

/**
 * CRI's deprecated string form of a security profile (`seccomp_profile_path`, `apparmor_profile`): `runtime/default`,
 * `docker/default`, `unconfined`, `localhost/<path or name>`. Empty is no profile at all.
 *
 * @throws INVALID_ARGUMENT naming `field` for anything else.
 */
export function parseProfileString(field: string, text: string): SecurityProfile | undefined {
  switch (text) {
    case '':
      return undefined;
    case 'runtime/default':
    case 'docker/default':
      return { profileType: ProfileType.RuntimeDefault, localhostRef: '' };
    case 'unconfined':
      return { profileType: ProfileType.Unconfined, localhostRef: '' };
    default:
      if (text.startsWith('localhost/')) {
        return { profileType: ProfileType.Localhost, localhostRef: text.slice('localhost/'.length) };
      }
      throw invalidArgument(field, `${JSON.stringify(text)} is neither runtime/default, unconfined nor localhost/…`);
  }
}
