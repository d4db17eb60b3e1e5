/** A test by its source file, without `.test.ts` and from the checkout's root, and by its full name. */
export interface TestReference {
  readonly file: string;
  readonly name: string;
}

/**
 * * `honoured`: of a request, criquet acts on it; of an answer, criquet fills it. The test fails when the field is not on the wire.
 * * `ignored`: criquet does nothing with it, for the reason given; a test, where there is one, shows that it changes nothing.
 * * `unset`: criquet never fills it, for the reason given.
 * * `windows`: it means something on Windows only.
 */
export type Status = 'honoured' | 'ignored' | 'unset' | 'windows';

/** What is known of one field or call, looked over by people. */
export interface Fact {
  readonly status: Status;
  /** What criquet does with it in one line, or why it does nothing. */
  readonly text: string;
  readonly test?: TestReference;
}

/** Facts of messages: message, then field, both as the definition has them. */
export type MessageFacts = Readonly<Record<string, Readonly<Record<string, Fact>>>>;
/** Facts of calls: service, then call. */
export type CallFacts = Readonly<Record<string, Readonly<Record<string, Fact>>>>;

/** What is known of an enumeration. */
export interface EnumFact {
  /** How many values were looked at: another number in the definition is a gap. */
  readonly values: number;
  readonly text: string;
  readonly test: TestReference;
}

export interface Facts {
  readonly calls: CallFacts;
  readonly enums: Readonly<Record<string, EnumFact>>;
  readonly messages: MessageFacts;
}

export const honoured = (text: string, test: TestReference): Fact => ({ status: 'honoured', text, test });
export const ignored = (reason: string, test?: TestReference): Fact => ({ status: 'ignored', text: reason, ...(test && { test }) });
export const unset = (reason: string): Fact => ({ status: 'unset', text: reason });

/** The fields of a message that Linux has no use for. */
export function windows(...fields: readonly string[]): Readonly<Record<string, Fact>> {
  return Object.fromEntries(fields.map((field) => [field, windowsField()]));
}

/** A field in a message that both have; with a test when criquet refuses it. */
export function windowsField(text = '', test?: TestReference): Fact {
  return { status: 'windows', text, ...(test && { test }) };
}

/** Tests of the whole server over gRPC, on a fake containerd: `component('pod-life')('L8 unknown ids')`. */
export function component(file: string): (name: string) => TestReference {
  return (name) => ({ file: `packages/shim-server/test/component/${file}`, name });
}
