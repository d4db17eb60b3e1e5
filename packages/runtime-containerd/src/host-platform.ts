import type { Platform } from './services/introspection.js';

const architectures: Readonly<Record<string, Pick<Platform, 'architecture' | 'variant'>>> = {
  x64: { architecture: 'amd64', variant: '' },
  arm64: { architecture: 'arm64', variant: 'v8' },
  arm: { architecture: 'arm', variant: 'v7' },
  ia32: { architecture: '386', variant: '' },
  ppc64: { architecture: 'ppc64le', variant: '' },
};

/** This machine's platform in Go's words, as image indexes name it. */
export function hostPlatform(arch: string = process.arch): Platform {
  return { os: 'linux', ...(architectures[arch] ?? { architecture: arch, variant: '' }) };
}
