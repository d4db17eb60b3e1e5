import { CniError, CniErrorCode, type CniCommand } from '../cni-error.js';
import { compact, isJsonObject, ObjectReader, type JsonObject } from '../json/object-reader.js';
import { isAtLeast, isCniVersion, type CniVersion } from '../version.js';
import type { CniResult, ResultDns, ResultInterface, ResultIp, ResultRoute } from './cni-result.js';
import { isIP } from 'node:net';
import { parseCidr } from './ip-address.js';

/** Whose answer is read, for the error. */
export interface ResultSource {
  readonly command: CniCommand;
  readonly plugin: string;
  readonly network: string;
}

/**
 * Reads what a plugin printed on ADD (SPEC.md section 5 of every version) into the shape of 1.1.
 * A result without `cniVersion` counts as being of the configuration's version: older plugins leave it out.
 * Throws CniError with failure `output`.
 */
export function parseResult(stdout: string, configVersion: CniVersion, source: ResultSource): CniResult {
  const failure = (field: string, reason: string): CniError =>
    new CniError({ ...source, failure: 'output', code: CniErrorCode.DecodingFailure, msg: `invalid result: ${field === '' ? '' : `${field}: `}${reason}` });
  let value: unknown;
  try {
    value = JSON.parse(stdout);
  } catch {
    throw failure('', stdout.trim() === '' ? 'the plugin printed nothing' : `no JSON: ${excerpt(stdout)}`);
  }
  if (!isJsonObject(value)) throw failure('', `expected an object: ${excerpt(stdout)}`);
  return readResult(value, configVersion, failure);
}

/** Reads a result that is JSON already. `failure` makes the error for a field that is wrong. */
export function readResult(raw: JsonObject, configVersion: CniVersion, failure: (field: string, reason: string) => Error): CniResult {
  const reader: ObjectReader = new ObjectReader(raw, '', failure);
  const version = reader.text('cniVersion') ?? configVersion;
  if (!isCniVersion(version)) reader.fail('cniVersion', `unsupported version ${JSON.stringify(version)}`);
  const dns = readDns(reader.object('dns'));
  if (!isAtLeast(version, '0.3.0')) return { ...readLegacy(reader), dns };
  const interfaces = reader.objects('interfaces').map(readInterface);
  return {
    interfaces,
    ips: reader.objects('ips').map((ip) => readIp(ip, interfaces.length)),
    routes: reader.objects('routes').map(readRoute),
    dns,
  };
}

/** 0.1.0 and 0.2.0: at most one address of each family, with its routes, and no interfaces. */
function readLegacy(reader: ObjectReader): Omit<CniResult, 'dns'> {
  const families = ['ip4', 'ip6'].map((key) => reader.object(key)).filter((family) => family !== undefined);
  return {
    interfaces: [],
    ips: families.map((family) => compact<ResultIp>({ address: cidr(family, 'ip'), gateway: address(family, 'gateway') })),
    routes: families.flatMap((family) => family.objects('routes').map(readRoute)),
  };
}

function readInterface(reader: ObjectReader): ResultInterface {
  return compact<ResultInterface>({
    name: reader.string('name') ?? reader.fail('name', 'missing'),
    mac: reader.text('mac'),
    mtu: reader.integer('mtu') || undefined,
    sandbox: reader.text('sandbox'),
    socketPath: reader.text('socketPath'),
    pciID: reader.text('pciID'),
  });
}

function readIp(reader: ObjectReader, interfaces: number): ResultIp {
  const index = reader.integer('interface');
  if (index !== undefined && (index < 0 || index >= interfaces)) {
    reader.fail('interface', `${index} is no index into the ${interfaces} interfaces`);
  }
  return compact<ResultIp>({ address: cidr(reader, 'address'), gateway: address(reader, 'gateway'), interface: index });
}

function readRoute(reader: ObjectReader): ResultRoute {
  return compact<ResultRoute>({
    dst: cidr(reader, 'dst'),
    gw: address(reader, 'gw'),
    mtu: reader.integer('mtu') || undefined,
    advmss: reader.integer('advmss') || undefined,
    priority: reader.integer('priority') || undefined,
    // 0 is a table (unspecified) and a scope (global) of their own
    table: reader.integer('table'),
    scope: reader.integer('scope'),
  });
}

function readDns(reader: ObjectReader | undefined): ResultDns {
  if (reader === undefined) return { nameservers: [], search: [], options: [] };
  return compact<ResultDns>({
    nameservers: reader.strings('nameservers'),
    domain: reader.text('domain'),
    search: reader.strings('search'),
    options: reader.strings('options'),
  });
}

function cidr(reader: ObjectReader, key: string): string {
  const text = reader.string(key) ?? reader.fail(key, 'missing');
  return parseCidr(text) === undefined ? reader.fail(key, `${JSON.stringify(text)} is no address in CIDR notation`) : text;
}

function address(reader: ObjectReader, key: string): string | undefined {
  const text = reader.text(key);
  return text === undefined || isIP(text) !== 0 ? text : reader.fail(key, `${JSON.stringify(text)} is no IP address`);
}

/** Enough of a plugin's output to recognise it by. */
export function excerpt(text: string): string {
  const trimmed = text.trim();
  return JSON.stringify(trimmed.length > 200 ? `${trimmed.slice(0, 200)}…` : trimmed);
}
