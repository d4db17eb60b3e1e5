import type { Any } from '../any.js';
import { ImageStore } from '../gen/types/transfer/imagestore.js';
import { Progress } from '../gen/types/transfer/progress.js';
import { OCIRegistry } from '../gen/types/transfer/registry.js';
import { fromWireDescriptor } from '../grpc/descriptor.js';
import { hostPlatform } from '../host-platform.js';
import type { PullProgress, PullRequest } from './pull-request.js';

const OCI_REGISTRY = 'containerd.types.transfer.OCIRegistry';
const IMAGE_STORE = 'containerd.types.transfer.ImageStore';
const PROGRESS = 'containerd.types.transfer.Progress';

/** Where to pull from. */
export function registrySource(request: PullRequest, authStream: string): Any {
  const { reference, hostDir = '', headers = {} } = request;
  const message = OCIRegistry.fromPartial({ reference, resolver: { authStream, headers, hostDir } });
  return { typeUrl: OCI_REGISTRY, value: OCIRegistry.encode(message).finish() };
}

/** What to make of it: one platform's content, its snapshots, and the record. */
export function imageStoreDestination(request: PullRequest): Any {
  const { os, architecture, variant, osVersion = '', osFeatures = [] } = request.platform ?? hostPlatform();
  const platform = { os, architecture, variant, osVersion, osFeatures: [...osFeatures] };
  const message = ImageStore.fromPartial({
    name: request.imageName ?? request.reference,
    labels: { ...request.labels },
    platforms: [platform],
    unpacks: request.snapshotter === undefined ? [] : [{ platform, snapshotter: request.snapshotter }],
  });
  return { typeUrl: IMAGE_STORE, value: ImageStore.encode(message).finish() };
}

/** Nothing for a message of another type. */
export function decodeProgress(any: Any): PullProgress | undefined {
  if (any.typeUrl !== PROGRESS) return undefined;
  const { event, name, parents, progress, total, desc } = Progress.decode(any.value);
  return {
    event,
    name,
    parents,
    progress,
    total,
    ...(desc === undefined ? {} : { descriptor: fromWireDescriptor(desc) }),
  };
}
