/**
 * The OCI image specification 1.1 (https://github.com/opencontainers/image-spec), with the older docker media types
 * that registries still serve. The documents come from outside, so every field may be missing.
 */

/** Media types by what they hold. */
export const mediaTypes = {
  ociIndex: 'application/vnd.oci.image.index.v1+json',
  ociManifest: 'application/vnd.oci.image.manifest.v1+json',
  ociConfig: 'application/vnd.oci.image.config.v1+json',
  ociLayer: 'application/vnd.oci.image.layer.v1.tar',
  ociLayerGzip: 'application/vnd.oci.image.layer.v1.tar+gzip',
  ociLayerZstd: 'application/vnd.oci.image.layer.v1.tar+zstd',
  ociEmpty: 'application/vnd.oci.empty.v1+json',
  dockerIndex: 'application/vnd.docker.distribution.manifest.list.v2+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerConfig: 'application/vnd.docker.container.image.v1+json',
  dockerLayer: 'application/vnd.docker.image.rootfs.diff.tar',
  dockerLayerGzip: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
} as const;

/** A document that lists manifests (OCI index or docker manifest list). */
export function isIndex(mediaType: string): boolean {
  return mediaType === mediaTypes.ociIndex || mediaType === mediaTypes.dockerIndex;
}

/** A document that names one image's config and layers. */
export function isManifest(mediaType: string): boolean {
  return mediaType === mediaTypes.ociManifest || mediaType === mediaTypes.dockerManifest;
}

/** A content descriptor as it stands in JSON; containerd's gRPC form is `Descriptor`. */
export interface OciDescriptor {
  mediaType: string;
  digest: string;
  /** Bytes. */
  size: number;
  urls?: string[];
  annotations?: Record<string, string>;
  data?: string;
  artifactType?: string;
  platform?: OciPlatform;
}

export interface OciPlatform {
  /** GOARCH, for example `amd64`. */
  architecture: string;
  /** GOOS, for example `linux`. */
  os: string;
  'os.version'?: string;
  'os.features'?: string[];
  /** For example `v8` of arm64. */
  variant?: string;
}

export interface ImageIndex {
  schemaVersion: number;
  mediaType?: string;
  artifactType?: string;
  manifests: OciDescriptor[];
  subject?: OciDescriptor;
  annotations?: Record<string, string>;
}

export interface ImageManifest {
  schemaVersion: number;
  mediaType?: string;
  artifactType?: string;
  config: OciDescriptor;
  layers: OciDescriptor[];
  subject?: OciDescriptor;
  annotations?: Record<string, string>;
}

/** The image's own configuration document (its digest is the image's id). */
export interface ImageConfig {
  created?: string;
  author?: string;
  architecture: string;
  os: string;
  'os.version'?: string;
  'os.features'?: string[];
  variant?: string;
  config?: ImageRunConfig;
  rootfs: {
    type: string;
    /** Digests of the uncompressed layers, lowest first. */
    diff_ids: string[];
  };
  history?: { created?: string; author?: string; created_by?: string; comment?: string; empty_layer?: boolean }[];
}

/** What a container of the image runs by default. Docker writes `null` where OCI leaves out. */
export interface ImageRunConfig {
  /** `user`, `uid`, `user:group`, `uid:gid`, `uid:group`, `user:gid`. */
  User?: string;
  ExposedPorts?: Record<string, object> | null;
  Env?: string[] | null;
  Entrypoint?: string[] | null;
  Cmd?: string[] | null;
  Volumes?: Record<string, object> | null;
  WorkingDir?: string;
  Labels?: Record<string, string> | null;
  /** `SIGTERM`, `TERM`, `15`, `SIGRTMIN+3`. */
  StopSignal?: string;
  ArgsEscaped?: boolean;
  /** docker only. */
  Shell?: string[] | null;
}
