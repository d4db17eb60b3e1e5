import { readFile } from 'node:fs/promises';
import { decodeSpec, specTypeUrl, type RuntimeSpec } from '@criquet/runtime-containerd';
import * as z from 'zod';

const texts = z.array(z.string());
const named = <K extends string>(name: K) => z.array(z.looseObject({ [name]: z.string() } as Record<K, z.ZodString>));
const table = z.looseObject({});

/** As much of a spec as is looked into when containers are made from it; the rest is the OCI runtime's to judge. */
const shape = z.looseObject({
  ociVersion: z.string(),
  process: z
    .looseObject({
      env: texts.optional(),
      rlimits: named('type').optional(),
      capabilities: z.looseObject({ bounding: texts.optional() }).optional(),
    })
    .optional(),
  mounts: named('destination').optional(),
  hooks: z.record(z.string(), named('path')).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  linux: z
    .looseObject({
      resources: z.looseObject({ devices: z.array(z.looseObject({ allow: z.boolean() })).optional() }).optional(),
      devices: named('path').optional(),
      namespaces: named('type').optional(),
      sysctl: z.record(z.string(), z.string()).optional(),
      seccomp: table.optional(),
    })
    .optional(),
});

/**
 * Reads the file that a handler's `base_runtime_spec` names.
 *
 * @param option the option, for the error.
 * @throws Error that names option, file and what is wrong with it
 */
export async function loadBaseRuntimeSpec(option: string, file: string): Promise<RuntimeSpec> {
  try {
    const spec = decodeSpec({ typeUrl: specTypeUrl, value: await readFile(file) });
    const issue = shape.safeParse(spec).error?.issues[0];
    if (issue !== undefined) throw new Error(`${issue.path.join('.') || 'the document'}: ${issue.message}`);
    return spec;
  } catch (error) {
    throw new Error(`${option}: ${file}: ${(error as Error).message}`, { cause: error });
  }
}
