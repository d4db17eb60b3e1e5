/** Vendor and class of a kind: letters, digits, `_`, `-` and `.`, from a letter to a letter or digit. */
const SEGMENT = /^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?$/;
/** A device's own name may begin with a digit and hold `:` too. */
const DEVICE = /^[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$/;

/** Whether it is a vendor and a class, `vendor.com/class`. */
export function isKind(text: string): boolean {
  const segments = text.split('/');
  return segments.length === 2 && segments.every((segment) => SEGMENT.test(segment));
}

export function isDeviceName(text: string): boolean {
  return DEVICE.test(text);
}

/** Whether it is a fully qualified CDI device, `vendor.com/class=name`. */
export function isQualifiedName(text: string): boolean {
  const split = text.indexOf('=');
  return split > 0 && isKind(text.slice(0, split)) && isDeviceName(text.slice(split + 1));
}
