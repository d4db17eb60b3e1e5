import type { Field } from './field.js';

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** A name of at most 63 lower-case letters, digits and "-" (RFC 1123 label): namespaces, containers, volumes, host names. */
export function dnsLabel(field: Field): string {
  return checked(field, LABEL, 63, 'a name of at most 63 lower-case letters, digits and "-"');
}

/** A name of at most 253 lower-case letters, digits, "-" and "." (RFC 1123 subdomain): pods, ConfigMaps, Secrets. */
export function dnsSubdomain(field: Field): string {
  return checked(field, SUBDOMAIN, 253, 'a name of at most 253 lower-case letters, digits, "-" and "."');
}

/** A name of at most 15 lower-case letters, digits and "-", a letter among them (RFC 6335): ports. */
export function serviceName(field: Field): string {
  return checked(field, /^(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*$/, 15, 'at most 15 lower-case letters, digits and "-", with a letter');
}

function checked(field: Field, form: RegExp, length: number, expected: string): string {
  const name = field.requiredString();
  if (name !== '' && (name.length > length || !form.test(name))) field.error(`expected ${expected}, got ${JSON.stringify(name)}`);
  return name;
}
