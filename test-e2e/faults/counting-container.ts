import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerConfig, DeepPartial } from '@criquet/cri-api';
import { LineCount, type LineOf, type StreamAccount } from '../harness/counted-lines.js';
import { LineJoiner, parseLogRecords, type LogRecord } from '../harness/log-records.js';
import type { TestNode } from '../harness/node.js';
import { CALL, type TestContainer, type TestPod } from '../harness/pods.js';

/** What a container writes, line by line, to both of its streams in turn. */
export interface Writing {
  /** Bytes of a line beside its number. */
  readonly bytes: number;
  /** Seconds between two lines. Default: none, it writes as fast as its share of a CPU lets it. */
  readonly every?: number;
}

const STREAMS = ['stdout', 'stderr'] as const;
type Stream = (typeof STREAMS)[number];
const LETTER: Readonly<Record<Stream, string>> = { stdout: 'o', stderr: 'e' };

const NEWLINE = 10;
/** What is read of a log at a time; more than a record. */
const BLOCK_BYTES = 1024 * 1024;

/** A hundredth of a CPU for what does not pause. */
const FEW_CPU: DeepPartial<ContainerConfig> = { linux: { resources: { cpuPeriod: 100_000n, cpuQuota: 1_000n } } };

/** A container that numbers what it writes, until it is told to end. */
export class CountingContainer {
  private rotations = 0;

  private constructor(
    readonly container: TestContainer,
    private readonly writing: Writing,
    /** Its exit code. */
    readonly code: number,
    private readonly place: string,
  ) {}

  static async start(pod: TestPod, name: string, writing: Writing, code: number): Promise<CountingContainer> {
    const letters = (letter: string) => `$(head -c ${writing.bytes} /dev/zero | tr '\\0' ${letter})`;
    const script = `
      trap 'touch /report/${name}.sigpipe' PIPE
      o=${letters(LETTER.stdout)} e=${letters(LETTER.stderr)} i=0
      until [ -e /report/${name}.end ]; do
        i=$((i+1)); echo "$i $o $i"; echo "$i $e $i" >&2
        ${writing.every === undefined ? '' : `sleep ${writing.every}`}
      done
      echo $i >/report/${name}.last
      exit ${code}`;
    const container = await pod.start({
      metadata: { name, attempt: 0 },
      command: ['sh', '-c', script],
      mounts: [{ hostPath: pod.node.directory, containerPath: '/report' }],
      ...(writing.every === undefined ? FEW_CPU : {}),
    });
    return new CountingContainer(container, writing, code, join(pod.node.directory, name));
  }

  /** Lets it end after the line that it writes. */
  async letEnd(): Promise<void> {
    await writeFile(`${this.place}.end`, '');
  }

  /** Renames the log and has it opened anew, as the kubelet does. Rejects where the daemon does not carry it out: the next one opens a new file. */
  async rotate({ cri }: TestNode): Promise<void> {
    const { logFile } = this.container;
    this.rotations += 1;
    await rename(logFile, this.rotated(this.rotations)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      // Renamed already, and no daemon has made a new one.
      this.rotations -= 1;
    });
    await cri.runtime.reopenContainerLog({ containerId: this.container.id }, CALL);
  }

  /** The number of its last line, once it has ended. */
  async last(): Promise<number> {
    return Number(await readFile(`${this.place}.last`, 'utf8'));
  }

  /** Whether a write failed for want of a reader. */
  async hadSigpipe(): Promise<boolean> {
    return readFile(`${this.place}.sigpipe`).then(
      () => true,
      () => false,
    );
  }

  /** Accounts over all files of its log. @param last where it is known, from {@link last} */
  async account(last?: number): Promise<Record<Stream, StreamAccount>> {
    const streams = STREAMS.map((name) => ({ joiner: new LineJoiner(name), count: new LineCount(this.lineOf(name)) }));
    for (const file of this.files) {
      for await (const records of recordsOf(file)) {
        for (const { joiner, count } of streams) {
          for (const record of records) {
            const line = joiner.add(record);
            if (line !== undefined) count.add(line);
          }
        }
      }
    }
    const [stdout, stderr] = streams.map(({ joiner, count }) => {
      const rest = joiner.rest();
      // One without an end counts as a piece where nothing more can come.
      if (rest !== undefined && last !== undefined) count.add(rest);
      return count.account(last);
    });
    if (stdout === undefined || stderr === undefined) throw new Error('a container has two streams');
    return { stdout, stderr };
  }

  /** Bytes in its log. */
  async size(): Promise<number> {
    const sizes = await Promise.all(this.files.map((file) => stat(file).then(({ size }) => size, () => 0)));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** The files of its log, oldest first. */
  private get files(): string[] {
    return [...Array.from({ length: this.rotations }, (_, index) => this.rotated(index + 1)), this.container.logFile];
  }

  /** Named as the kubelet names them, by a time. */
  private rotated(index: number): string {
    return `${this.container.logFile}.20260101-${String(index).padStart(6, '0')}`;
  }

  private lineOf(stream: Stream): LineOf {
    const text = LETTER[stream].repeat(this.writing.bytes);
    return (n) => `${n} ${text} ${n}`;
  }
}

/** The records of a file that may be large, or not be there, some at a time. One that is being written has no end yet and is left out. */
async function* recordsOf(file: string): AsyncGenerator<LogRecord[]> {
  const content = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
  for (let at = 0; at < content.length; ) {
    const end = content.lastIndexOf(NEWLINE, at + BLOCK_BYTES) + 1;
    if (end <= at) return;
    yield parseLogRecords(content.toString('latin1', at, end), file);
    at = end;
  }
}
