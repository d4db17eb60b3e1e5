/*
 * Figures of criquet against containerd's own CRI plugin; the head of scripts/bench says how it is called, docs/benchmarks.md what is measured.
 * Exits 1 when something could not be measured; a target that is missed is no failure.
 */
import { resolve } from 'node:path';
import { CHECKOUT } from '../cri-support/checkout.js';
import { readCommandLine } from '../harness/command-line.js';
import { readCall } from './call.js';
import { compareBoth } from './compare-both.js';
import { writeDocument } from './document.js';
import { profileFigure } from './profile/profile-figure.js';

const call = readCommandLine(import.meta.filename, () => readCall((path) => resolve(CHECKOUT, path)));
const say = (line: string): void => void process.stderr.write(`${line}\n`);

if (call.render) await writeDocument();
else if (call.profile !== undefined) console.log(await profileFigure(call, call.profile, say));
else console.log(await compareBoth(call, say));
