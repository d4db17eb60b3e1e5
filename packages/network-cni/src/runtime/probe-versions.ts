import { CniError, CniErrorCode } from '../cni-error.js';
import { isJsonObject, ObjectReader } from '../json/object-reader.js';
import { invokePlugin, NO_PARAMETERS, type PluginHost } from '../plugin/invoke-plugin.js';
import { excerpt } from '../result/parse-result.js';
import { CURRENT_CNI_VERSION } from '../version.js';
import type { Operation } from './operation.js';

/** Plugins of 0.1.0 check these before they look at the command. */
const PLACEHOLDERS = { ...NO_PARAMETERS, netns: 'dummy', ifName: 'dummy' };

/** VERSION (SPEC.md section 2). A plugin that does not know the command speaks 0.1.0. */
export async function probeVersions(host: PluginHost, operation: Operation, type: string): Promise<string[]> {
  let stdout: string;
  try {
    stdout = await invokePlugin(host, operation, type, PLACEHOLDERS, { cniVersion: CURRENT_CNI_VERSION });
  } catch (error) {
    if (error instanceof CniError && error.msg === 'unknown CNI_COMMAND: VERSION') return ['0.1.0'];
    throw error;
  }
  const failure = (field: string, reason: string): CniError =>
    operation.error({ failure: 'output', plugin: type, code: CniErrorCode.DecodingFailure, msg: `invalid version answer: ${field}: ${reason}` });
  let value: unknown;
  try {
    value = JSON.parse(stdout);
  } catch {
    value = undefined;
  }
  if (!isJsonObject(value)) throw failure('', `no JSON object: ${excerpt(stdout)}`);
  const reader = new ObjectReader(value, '', failure);
  const supported = reader.strings('supportedVersions');
  if (supported.length > 0) return supported;
  // 0.2.0 introduced the command and left the list optional
  return reader.text('cniVersion') === '0.2.0' ? ['0.1.0', '0.2.0'] : reader.fail('supportedVersions', 'missing');
}
