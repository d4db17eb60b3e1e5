import type { Containers, NewContainer } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument, notFound } from '../errors.js';
import { againLater } from '../runtime/again-later.js';
import { ignoreNotFound } from '../runtime/already-gone.js';
import type { RecordCodec } from './record-codec.js';

interface Identified {
  readonly id: string;
  readonly name: string;
  readonly createdAt: bigint;
}

/** Told of each change at the moment it becomes visible: `before` is absent for a new record, `after` for one that is gone. */
export type RecordObserver<R> = (before: R | undefined, after: R | undefined) => void;

/** What containerd wants in a container record beside the extension. */
export type RecordFrame = Pick<NewContainer, 'labels' | 'image' | 'runtime' | 'spec' | 'snapshotter' | 'snapshotKey' | 'sandbox'>;

/**
 * The records of one kind. containerd is the database; this is an index over it that is rebuilt at start.
 * A record changes only through {@link update} and {@link amend}.
 */
export class RecordStore<R extends Identified> {
  private readonly records = new Map<string, R>();
  private readonly idsByName = new Map<string, string>();
  private readonly writes = new Map<string, Promise<void>>();
  /** New ones of which containerd has not said that it has them. */
  private readonly unsure = new Set<string>();
  private readonly observers: RecordObserver<R>[] = [];

  constructor(
    private readonly containers: Containers,
    private readonly codec: RecordCodec<R>,
    /** `sandbox` or `container`, for messages. */
    readonly noun: string,
    /** Told of a background write that failed. */
    private readonly onWriteError: (id: string, error: unknown) => void,
  ) {}

  /** For as long as the daemon lives; an observer must not throw. */
  observe(observer: RecordObserver<R>): void {
    this.observers.push(observer);
  }

  /** In the order they were created. */
  all(): R[] {
    return [...this.records.values()];
  }

  get(id: string): R | undefined {
    return this.records.get(id);
  }

  /** By whole id or by an unambiguous beginning of one. */
  find(idOrPrefix: string): R | undefined {
    const exact = this.records.get(idOrPrefix);
    if (exact !== undefined || idOrPrefix === '') return exact;
    const matches = [...this.records.keys()].filter((id) => id.startsWith(idOrPrefix));
    if (matches.length > 1) {
      throw invalidArgument(`${this.noun} id`, `${JSON.stringify(idOrPrefix)} is the beginning of ${matches.length} ids`);
    }
    return matches[0] === undefined ? undefined : this.records.get(matches[0]);
  }

  /** @throws INVALID_ARGUMENT for an empty id, NOT_FOUND for an unknown one. */
  require(idOrPrefix: string): R {
    if (idOrPrefix === '') throw invalidArgument(`${this.noun} id`, 'is empty');
    const record = this.find(idOrPrefix);
    if (record === undefined) throw notFound(this.noun, idOrPrefix);
    return record;
  }

  byName(name: string): R | undefined {
    const id = this.idsByName.get(name);
    return id === undefined ? undefined : this.records.get(id);
  }

  /**
   * Writes a new record to containerd: the intent, before the first side effect. After a failure it must be removed: containerd may
   * have it, and the answer got lost.
   */
  async insert(record: R, frame: RecordFrame, signal?: AbortSignal): Promise<void> {
    this.adopt(record);
    this.unsure.add(record.id);
    await this.containers.create(
      {
        ...frame,
        id: record.id,
        extensions: { [this.codec.key]: this.codec.encode(record) },
      },
      signal === undefined ? {} : { signal },
    );
    this.unsure.delete(record.id);
  }

  /** Takes a record found in containerd into the index. */
  adopt(record: R): void {
    const before = this.records.get(record.id);
    this.records.set(record.id, record);
    this.idsByName.set(record.name, record.id);
    this.notify(before, record);
  }

  /** Changes a record: visible at once, and in containerd when the promise resolves. */
  async update(id: string, change: (record: R) => R): Promise<R> {
    const changed = this.change(id, change);
    await this.write(id);
    return changed;
  }

  /** Changes a record: visible at once, in containerd soon after. For what could also be found out again after a crash. */
  amend(id: string, change: (record: R) => R): R {
    const changed = this.change(id, change);
    this.write(id).catch((error: unknown) => this.onWriteError(id, error));
    return changed;
  }

  /** Changes a record in the index only: for what recovery concludes by itself from containerd. */
  note(id: string, change: (record: R) => R): R {
    return this.change(id, change);
  }

  /** Replaces the runtime spec of a record that has not started yet, together with the record itself. */
  async updateWithSpec(id: string, change: (record: R) => R, spec: NewContainer['spec']): Promise<R> {
    const changed = this.change(id, change);
    await this.write(id, spec);
    return changed;
  }

  /** Removes a record from containerd and the index; one that is gone already is fine. */
  async remove(id: string): Promise<void> {
    await this.writes.get(id)?.catch(() => undefined);
    await this.containers.delete(id).catch(ignoreNotFound);
    if (this.unsure.delete(id)) againLater(() => this.containers.delete(id));
    this.forget(id);
  }

  private forget(id: string): void {
    const record = this.records.get(id);
    if (record === undefined) return;
    this.records.delete(id);
    if (this.idsByName.get(record.name) === id) this.idsByName.delete(record.name);
    this.notify(record, undefined);
  }

  private notify(before: R | undefined, after: R | undefined): void {
    for (const observer of this.observers) observer(before, after);
  }

  private change(id: string, change: (record: R) => R): R {
    const record = this.records.get(id);
    if (record === undefined) throw failedPrecondition(`${this.noun} ${id} was removed meanwhile`);
    const changed = change(record);
    this.records.set(id, changed);
    this.notify(record, changed);
    return changed;
  }

  /** One write at a time per object, each of what the record is by then. */
  private write(id: string, spec?: NewContainer['spec']): Promise<void> {
    const before = this.writes.get(id) ?? Promise.resolve();
    const mine = before
      .catch(() => undefined)
      .then(async () => {
        const record = this.records.get(id);
        if (record === undefined) return;
        const extensions = { [this.codec.key]: this.codec.encode(record) };
        const field = `extensions.${this.codec.key}`;
        await (spec === undefined
          ? this.containers.update({ id, extensions }, [field])
          : this.containers.update({ id, extensions, spec }, [field, 'spec']));
      })
      .finally(() => {
        if (this.writes.get(id) === mine) this.writes.delete(id);
      });
    this.writes.set(id, mine);
    return mine;
  }
}
