import * as z from 'zod';
import { readGoDocument } from '../config/go-document.js';
import { isDeviceName, isKind } from './qualified-name.js';
import { requiredVersion, versionIndex } from './spec-version.js';

/*
 * A CDI specification file: the Container Device Interface, SPEC.md, versions 0.3.0 to 1.1.0
 * (https://github.com/cncf-tags/container-device-interface). Names are those of the format.
 */

/** What is not quoted in YAML may look like a number and still be meant as text. */
const anyText = z.union([z.string(), z.number(), z.boolean()]).transform(String);
/** What the kernel or the OCI runtime gets as a C string. */
const text = anyText.refine((value) => !value.includes('\0'), 'holds a NUL byte');
const filled = text.refine((value) => value !== '', 'is empty');
const absolute = text.refine((value) => value.startsWith('/'), 'is not an absolute path');
const variable = text.refine((value) => value.indexOf('=') > 0, 'is not NAME=value');
/** YAML 1.2's form, which version 1.1 takes for text and Go for a number. */
const octal = z.string().regex(/^0o[0-7]+$/).transform(Number);
/** A user or group; 2^32 - 1 stands for none. */
const id = z.int().min(0).max(0xffff_fffe);

const deviceNode = z.strictObject({
  /** In the container. */
  path: absolute,
  /** On the node; `path` by default. */
  hostPath: absolute.optional(),
  type: z.enum(['b', 'c', 'u', 'p']).optional(),
  major: z.int().min(0).optional(),
  minor: z.int().min(0).optional(),
  /** Permission bits. */
  fileMode: z.union([z.int().min(0), octal]).optional(),
  /** What the cgroup allows: any of `r`, `w`, `m`, by default all; `none` is nothing. */
  permissions: text.refine((value) => value === 'none' || /^[rwm]*$/.test(value), 'is not made of r, w and m').optional(),
  uid: id.optional(),
  gid: id.optional(),
});

const mount = z.strictObject({
  hostPath: filled,
  containerPath: absolute,
  type: text.optional(),
  options: z.array(text).optional(),
});

const hook = z.strictObject({
  hookName: z.enum(['prestart', 'createRuntime', 'createContainer', 'startContainer', 'poststart', 'poststop']),
  path: absolute,
  args: z.array(text).optional(),
  env: z.array(variable).optional(),
  /** Seconds. */
  timeout: z.int().min(1).optional(),
});

const intelRdt = z.strictObject({
  closID: text.refine(isClosId, 'is not the name of a class').optional(),
  l3CacheSchema: text.optional(),
  memBwSchema: text.optional(),
  schemata: z.array(text).optional(),
  enableMonitoring: z.boolean().optional(),
});

const netDevice = z.strictObject({ hostInterfaceName: filled, name: filled });

const containerEdits = z.strictObject({
  env: z.array(variable).default([]),
  deviceNodes: z.array(deviceNode).default([]),
  netDevices: z
    .array(netDevice)
    .default([])
    .refine((list) => unique(list.map(({ hostInterfaceName }) => hostInterfaceName)), 'names an interface of the node twice')
    .refine((list) => unique(list.map(({ name }) => name)), 'gives a name twice'),
  hooks: z.array(hook).default([]),
  mounts: z.array(mount).default([]),
  intelRdt: intelRdt.optional(),
  additionalGids: z.array(id).default([]),
});

const annotations = z.record(z.string(), anyText).optional();

const device = z.strictObject({
  name: text.refine(isDeviceName, 'is not the name of a device'),
  annotations,
  containerEdits: containerEdits.refine((edits) => !isEmpty(edits), 'edits nothing'),
});

const cdiDocument = z.strictObject({
  cdiVersion: text.refine((version) => versionIndex(version) >= 0, 'is not a known version'),
  kind: text.refine(isKind, 'is not a vendor and a class such as "vendor.com/class"'),
  annotations,
  devices: z
    .array(device)
    .min(1)
    .refine((list) => unique(list.map(({ name }) => name)), 'names a device twice'),
  containerEdits: containerEdits.prefault({}),
});

export type CdiDocument = z.output<typeof cdiDocument>;
export type ContainerEdits = z.output<typeof containerEdits>;
export type DeviceNode = z.output<typeof deviceNode>;

/** Every key of the format; files may write them in any case, `additionalGIDs` for one. */
const KEYS = [cdiDocument, device, containerEdits, deviceNode, mount, hook, intelRdt, netDevice].flatMap(({ shape }) => Object.keys(shape));

/** @throws Error naming the place in the document that is wrong; unknown fields are, and those newer than its version. */
export function parseCdiDocument(source: string): CdiDocument {
  const parsed = cdiDocument.safeParse(readGoDocument(source, { known: KEYS, free: ['annotations'] }));
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter((part) => part !== '').join(': '));
    throw new Error(problems.join('; '));
  }
  const required = requiredVersion(parsed.data);
  if (versionIndex(parsed.data.cdiVersion) < versionIndex(required)) {
    throw new Error(`cdiVersion: ${parsed.data.cdiVersion} lacks what the file uses, which is of ${required}`);
  }
  return parsed.data;
}

function isEmpty(edits: ContainerEdits): boolean {
  return edits.intelRdt === undefined && Object.values(edits).every((list) => !Array.isArray(list) || list.length === 0);
}

/** The name of a directory of resctrl; `/` is its root. */
function isClosId(name: string): boolean {
  return name === '/' || (name.length < 4096 && name !== '.' && name !== '..' && !/[/\n]/.test(name));
}

function unique(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}
