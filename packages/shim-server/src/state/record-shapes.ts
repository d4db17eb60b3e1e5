import * as z from 'zod';

/** Unix time in nanoseconds, as records have it: wider than JSON's numbers. */
const nanoseconds = z.string().regex(/^-?\d+$/);
const pid = z.int().min(0);
const base64 = z.string();

/**
 * What the document of a sandbox must be before anything is done by it: bytes that are damaged, or somebody else's, may still be JSON. Members
 * that are not listed are left as they are.
 */
export const sandboxShape = z.looseObject({
  id: z.string(),
  name: z.string(),
  config: base64,
  configDigest: z.string(),
  runtimeHandler: z.string(),
  handler: z.string(),
  snapshotter: z.string(),
  cgroupsPath: z.string(),
  phase: z.enum(['creating', 'ready', 'stopped', 'failed']),
  netnsPath: z.string(),
  usernsPath: z.string().optional(),
  networkAttached: z.boolean(),
  ips: z.array(z.string()),
  selinuxLevel: z.string().optional(),
  pid,
  createdAt: nanoseconds,
  ended: z.boolean().optional(),
  restoring: z.boolean().optional(),
});

/** The same of a container. */
export const containerShape = z.looseObject({
  id: z.string(),
  sandboxId: z.string(),
  name: z.string(),
  config: base64,
  configDigest: z.string(),
  phase: z.enum(['creating', 'created', 'running', 'exited']),
  imageId: z.string(),
  imageRef: z.string(),
  logPath: z.string(),
  stopSignal: z.int(),
  snapshotter: z.string(),
  cgroupsPath: z.string(),
  user: z.looseObject({ uid: z.int(), gid: z.int(), additionalGids: z.array(z.int()) }).optional(),
  mountLabel: z.string().optional(),
  imageVolumes: z
    .array(z.looseObject({ index: z.int(), imageId: z.string(), snapshotter: z.string(), snapshotKey: z.string() }))
    .optional(),
  declaredVolumes: z.array(z.string()).optional(),
  pid,
  createdAt: nanoseconds,
  startedAt: nanoseconds,
  exit: z
    .looseObject({ code: z.int(), reason: z.enum(['Completed', 'Error', 'OOMKilled', 'StartError', 'Unknown']), message: z.string(), finishedAt: nanoseconds })
    .optional(),
  checkpointing: z.looseObject({ files: z.array(z.string()) }).optional(),
  restored: z.boolean().optional(),
  discarding: z.boolean().optional(),
});
