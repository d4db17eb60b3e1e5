/** A test that a document names. */
export interface NamedTest {
  /** From the checkout's root. */
  readonly file: string;
  readonly name: string;
}

/** Short names of files: "PV is `packages/….test.ts`". */
const SHORT = /\b([A-Z]{2,}) is `([\w./-]+\.test\.ts)`/g;
/** `file.test.ts`: "name", or PV: "name". A name ends at the quotation mark that the sentence or cell goes on after. */
const NAMED = /(?:`([\w./-]+\.test\.ts)`|\b([A-Z]{2,})): "([^"]+)"/g;

/** Every test that the text names. @throws Error for a short name that is not explained */
export function namedTests(text: string): NamedTest[] {
  const short = new Map([...text.matchAll(SHORT)].map(([, name = '', file = '']) => [name, file]));
  return [...text.matchAll(NAMED)].map(([, path, abbreviation = '', name = '']) => {
    const file = path ?? short.get(abbreviation);
    if (file === undefined) throw new Error(`${abbreviation} is the short name of no file`);
    return { file, name };
  });
}
