import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Somebody whom the API server knows by a token. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

/** Full rights. */
export const ADMINISTRATOR: User = { name: 'administrator', groups: ['system:masters'] };
/** Users of Kubernetes' own, whose rights the API server's default roles name. */
export const CONTROLLER_MANAGER: User = { name: 'system:kube-controller-manager', groups: [] };
export const SCHEDULER: User = { name: 'system:kube-scheduler', groups: [] };
export const KUBE_PROXY: User = { name: 'system:kube-proxy', groups: [] };

/** A kubelet, as the Node authorizer wants it named. */
export function nodeUser(node: string): User {
  return { name: `system:node:${node}`, groups: ['system:nodes'] };
}

/** Who may log in to an API server, and the key that it signs service accounts' tokens with; in files below one directory. */
export class Credentials {
  private readonly tokens = new Map<string, string>();

  private constructor(private readonly directory: string) {}

  /** @param users everybody who will ever need a kubeconfig: the API server reads the file once */
  static async create(directory: string, users: readonly User[]): Promise<Credentials> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const credentials = new Credentials(directory);
    const lines = users.map(({ name, groups }) => {
      const token = randomBytes(16).toString('hex');
      credentials.tokens.set(name, token);
      return `${token},${name},${name},"${groups.join(',')}"\n`;
    });
    await writeFile(credentials.tokenFile, lines.join(''), { mode: 0o600 });
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    await writeFile(credentials.serviceAccountKeyFile, privateKey, { mode: 0o600 });
    return credentials;
  }

  /** For `--token-auth-file`. */
  get tokenFile(): string {
    return join(this.directory, 'tokens.csv');
  }

  /** A private RSA key in PEM: signs, and verifies. */
  get serviceAccountKeyFile(): string {
    return join(this.directory, 'service-accounts.pem');
  }

  /** The token of a user. Throws for one who was not named to `create`. */
  token({ name }: User): string {
    const token = this.tokens.get(name);
    if (token === undefined) throw new Error(`${name} has no token`);
    return token;
  }

  /**
   * Writes a kubeconfig for a user, and returns its path.
   *
   * @param server the API server's URL
   * @param authority file with the certificate that the server's is verified by
   */
  async kubeconfig(user: User, server: string, authority: string): Promise<string> {
    const file = join(this.directory, `${user.name.replaceAll(':', '-')}.kubeconfig`);
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'e2e', cluster: { server, 'certificate-authority': authority } }],
      users: [{ name: user.name, user: { token: this.token(user) } }],
      contexts: [{ name: 'e2e', context: { cluster: 'e2e', user: user.name } }],
      'current-context': 'e2e',
    };
    // YAML, of which JSON is a part.
    await writeFile(file, JSON.stringify(config, null, 2), { mode: 0o600 });
    return file;
  }
}
