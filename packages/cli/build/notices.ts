import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What licences are called in packages. */
const LICENCE_FILE = /^(licen[cs]e|copying|notice)(\.(md|txt))?$/i;

/**
 * The licences of what is in a bundle, package by package.
 *
 * @param inputs the bundled files, relative to `root`
 */
export async function thirdPartyNotices(root: string, inputs: readonly string[]): Promise<string> {
  const directories = new Set<string>();
  for (const input of inputs) {
    const directory = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0];
    if (directory !== undefined) directories.add(directory);
  }
  const notices = await Promise.all([...directories].map((directory) => noticeOf(join(root, directory))));
  return `criquet contains the following packages.\n${[...new Set(notices)].sort().join('')}`;
}

async function noticeOf(directory: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
    license: string;
  };
  const files = (await readdir(directory)).filter((file) => LICENCE_FILE.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')));
  return `\n${'-'.repeat(80)}\n${name} ${version} (${license})\n${texts.map((text) => `\n${text.trim()}\n`).join('')}`;
}
