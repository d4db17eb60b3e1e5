import * as fc from 'fast-check';
import { hostileJson, hostileText } from './hostile.js';

/** A good document that something has happened to: cut off, bytes changed, a part twice, a value of JSON replaced. */
export function damaged(good: string): fc.Arbitrary<string> {
  const place = fc.nat(good.length);
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(good) },
    { weight: 2, arbitrary: place.map((at) => good.slice(0, at)) },
    { weight: 3, arbitrary: fc.tuple(place, fc.string({ unit: 'binary', minLength: 1, maxLength: 4 })).map(([at, text]) => good.slice(0, at) + text + good.slice(at + text.length)) },
    { weight: 1, arbitrary: fc.tuple(place, place).map(([from, to]) => good.slice(0, to) + good.slice(Math.min(from, to))) },
    { weight: 6, arbitrary: replacedValue(good) },
  );
}

const LITERAL = /"(?:[^"\\]|\\.)*"(?!\s*:)|-?\d+(?:\.\d+)?|true|false|null|\[\]|\{\}/g;

/** Where `good` is JSON: one or two of its values become others, so that the rest is still read. */
function replacedValue(good: string): fc.Arbitrary<string> {
  const count = good.match(LITERAL)?.length ?? 0;
  if (count === 0) return hostileText.map((text) => good + text);
  const value = fc.oneof(hostileJson, hostileText).map((replacement) => JSON.stringify(replacement));
  return fc.tuple(fc.nat(count - 1), fc.nat(count - 1), value, value).map(([first, second, one, other]) => {
    let index = -1;
    return good.replace(LITERAL, (literal) => {
      index += 1;
      return index === first ? one : index === second ? other : literal;
    });
  });
}
