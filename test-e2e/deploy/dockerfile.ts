import { readFile } from 'node:fs/promises';

/** A step of a Dockerfile, in the words of its reference. */
export type DockerfileStep =
  | { readonly kind: 'arg'; readonly name: string; readonly value?: string }
  | { readonly kind: 'from'; readonly image: string; readonly stage?: string }
  | { readonly kind: 'copy'; readonly sources: readonly string[]; readonly target: string; readonly from?: string; readonly mode?: string }
  | { readonly kind: 'run'; readonly command: string }
  | { readonly kind: 'entrypoint' | 'cmd'; readonly command: readonly string[] };

/** Reads the part of Dockerfile's language that `deploy/` uses. Throws at anything else, so that nothing goes untried. */
export async function readDockerfile(path: string): Promise<DockerfileStep[]> {
  const text = await readFile(path, 'utf8');
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ');
  return lines.split('\n').map(parseStep);
}

function parseStep(line: string): DockerfileStep {
  const [, instruction = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
  switch (instruction) {
    case 'ARG': {
      const [name = '', value] = rest.split('=', 2);
      return { kind: 'arg', name, ...(value === undefined ? {} : { value }) };
    }
    case 'FROM': {
      const [, image = '', stage] = /^(\S+)(?:\s+AS\s+(\S+))?$/.exec(rest) ?? [];
      return { kind: 'from', image, ...(stage === undefined ? {} : { stage }) };
    }
    case 'COPY': {
      const words = rest.split(/\s+/);
      const flag = (name: string): string | undefined => words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
      const paths = words.filter((word) => !word.startsWith('--'));
      const [from, mode] = [flag('from'), flag('chmod')];
      return {
        kind: 'copy',
        sources: paths.slice(0, -1),
        target: paths.at(-1) ?? '',
        ...(from === undefined ? {} : { from }),
        ...(mode === undefined ? {} : { mode }),
      };
    }
    case 'RUN':
      return { kind: 'run', command: rest };
    case 'ENTRYPOINT':
    case 'CMD':
      return { kind: instruction === 'CMD' ? 'cmd' : 'entrypoint', command: JSON.parse(rest) as string[] };
    default:
      throw new Error(`not known here: ${line}`);
  }
}
