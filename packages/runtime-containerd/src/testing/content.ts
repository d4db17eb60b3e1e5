import { createHash } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { WriteAction, type ContentService, type WriteContentResponse } from '../gen/services/content/v1/content.js';
import { now } from './clock.js';
import { alreadyExists, FakeStatus, failedPrecondition, invalidArgument, notFound } from './fake-status.js';
import { mapField, parseFilters } from './filters.js';
import { maskedLabels, storedLabels } from './labels.js';
import type { Blob, Ingest, NamespaceState } from './namespace-state.js';
import type { Handlers } from './serve.js';

const READ_BYTES = 32 * 1024;

export function contentHandlers(stateOf: (namespace: string) => NamespaceState): Handlers<typeof ContentService> {
  const find = (state: NamespaceState, digest: string): Blob => {
    const blob = state.blobs.get(digest);
    if (blob === undefined) throw notFound(`content ${digest}`);
    return blob;
  };
  const findIngest = (state: NamespaceState, ref: string): Ingest => {
    const ingest = state.ingests.get(ref);
    if (ingest === undefined) throw notFound(`ingest ${ref}`);
    return ingest;
  };
  return {
    info: ({ digest }, { namespace }) => ({ info: find(stateOf(namespace), digest).info }),
    update({ info, updateMask = [] }, { namespace }) {
      const blob = find(stateOf(namespace), info?.digest ?? '');
      const mask = updateMask.length === 0 ? ['labels'] : updateMask;
      const labels = maskedLabels(blob.info.labels, info?.labels ?? {}, mask) ?? blob.info.labels;
      blob.info = { ...blob.info, labels, updatedAt: now() };
      return { info: blob.info };
    },
    async *list({ filters }, { namespace }) {
      const matches = parseFilters(filters);
      const infos = [...stateOf(namespace).blobs.values()].map(({ info }) => info);
      yield {
        info: infos.filter(({ digest, labels }) =>
          matches(([field, ...rest]) => (field === 'digest' ? digest : field === 'labels' ? mapField(rest, labels) : undefined)),
        ),
      };
    },
    delete({ digest }, { namespace }) {
      const state = stateOf(namespace);
      find(state, digest);
      state.blobs.delete(digest);
      return {};
    },
    async *read({ digest, offset, size }, { namespace }) {
      const { data } = find(stateOf(namespace), digest);
      const start = Number(offset);
      if (start > data.length) throw new FakeStatus(status.OUT_OF_RANGE, `read past object length ${data.length} bytes`);
      const end = size === 0n ? data.length : Math.min(data.length, start + Number(size));
      for (let at = start; at < end; at += READ_BYTES) {
        yield { offset: BigInt(at), data: data.subarray(at, Math.min(end, at + READ_BYTES)) };
      }
    },
    status: ({ ref }, { namespace }) => ({ status: findIngest(stateOf(namespace), ref).status }),
    listStatuses({ filters }, { namespace }) {
      const matches = parseFilters(filters);
      const statuses = [...stateOf(namespace).ingests.values()].map((ingest) => ingest.status);
      return { statuses: statuses.filter(({ ref }) => matches(([field]) => (field === 'ref' ? ref : undefined))) };
    },
    abort({ ref }, { namespace }) {
      const state = stateOf(namespace);
      findIngest(state, ref);
      state.ingests.delete(ref);
      return {};
    },
    async write(messages, send, { namespace, lease }) {
      const state = stateOf(namespace);
      state.checkLease(lease);
      let ingest: Ingest | undefined;
      for await (const { action, ref, total, expected, offset, data, labels } of messages) {
        if (expected !== '' && state.blobs.has(expected)) {
          state.hold(lease, { id: expected, type: 'content' });
          state.ingests.delete(ref);
          throw alreadyExists(`content ${expected}`);
        }
        ingest ??= openIngest(state, lease, ref, total, expected);
        if (offset > 0n && offset !== ingest.status.offset) {
          throw new FakeStatus(status.OUT_OF_RANGE, `write @${offset} must occur at current offset ${ingest.status.offset}`);
        }
        if (action !== WriteAction.STAT) {
          if (offset === 0n) ingest.data = Buffer.alloc(0);
          ingest.data = Buffer.concat([ingest.data, data]);
          ingest.status = { ...ingest.status, offset: BigInt(ingest.data.length), updatedAt: now() };
        }
        const digest = sha256(ingest.data);
        if (action === WriteAction.COMMIT) {
          if (total > 0n && total !== ingest.status.offset) throw failedPrecondition(`unexpected commit size ${ingest.status.offset}, expected ${total}`);
          if (expected !== '' && expected !== digest) throw failedPrecondition(`unexpected commit digest ${digest}, expected ${expected}`);
          state.ingests.delete(ref);
          state.release(lease, { id: ref, type: 'ingests' });
          if (state.blobs.has(digest)) throw alreadyExists(`content ${digest}`);
          storeBlob(state, lease, ingest.data, labels);
        }
        send(reply(action, ingest, digest));
        if (action === WriteAction.COMMIT) return;
      }
    },
  };
}

/** Puts a blob into the store. @returns its digest */
export function storeBlob(state: NamespaceState, lease: string, data: Buffer, labels: Readonly<Record<string, string>>): string {
  state.checkLease(lease);
  const digest = sha256(data);
  const time = now();
  const known = state.blobs.get(digest)?.info.labels ?? {};
  const info = { digest, size: BigInt(data.length), createdAt: time, updatedAt: time, labels: storedLabels({ ...known, ...labels }) };
  state.blobs.set(digest, { info, data });
  state.hold(lease, { id: digest, type: 'content' });
  return digest;
}

export function sha256(data: Uint8Array): string {
  return `sha256:${createHash('sha256').update(data).digest('hex')}`;
}

function openIngest(state: NamespaceState, lease: string, ref: string, total: bigint, expected: string): Ingest {
  if (ref === '') throw invalidArgument('first message must have a reference');
  const known = state.ingests.get(ref);
  if (known !== undefined) return known;
  const time = now();
  const ingest = { status: { ref, offset: 0n, total, expected, startedAt: time, updatedAt: time }, data: Buffer.alloc(0) };
  state.ingests.set(ref, ingest);
  state.hold(lease, { id: ref, type: 'ingests' });
  return ingest;
}

function reply(action: WriteAction, { status: { offset, total, startedAt, updatedAt } }: Ingest, digest: string): WriteContentResponse {
  return { action, offset, total, startedAt, updatedAt, digest };
}
