import { ImageCreate, ImageDelete, ImageUpdate } from '../gen/events/image.js';
import type { Image, ImagesService } from '../gen/services/images/v1/images.js';
import { now } from './clock.js';
import type { EventExchange } from './events.js';
import { alreadyExists, invalidArgument, notFound } from './fake-status.js';
import { mapField, parseFilters, type Fields } from './filters.js';
import { maskedLabels, otherPaths, storedLabels } from './labels.js';
import type { NamespaceState } from './namespace-state.js';
import type { Handlers } from './serve.js';

export function imageHandlers(
  stateOf: (namespace: string) => NamespaceState,
  events: EventExchange,
  collect: (state: NamespaceState) => void,
): Handlers<typeof ImagesService> {
  const find = (state: NamespaceState, name: string): Image => {
    const image = state.images.get(name);
    if (image === undefined) throw notFound(`image ${JSON.stringify(name)}`);
    return image;
  };
  return {
    get: ({ name }, { namespace }) => ({ image: find(stateOf(namespace), name) }),
    list({ filters }, { namespace }) {
      const matches = parseFilters(filters);
      return { images: [...stateOf(namespace).images.values()].filter((image) => matches(imageFields(image))) };
    },
    create({ image }, { namespace }) {
      const state = stateOf(namespace);
      if (!image?.name || !image.target?.digest) throw invalidArgument('image name and target digest must be set');
      if (state.images.has(image.name)) throw alreadyExists(`image ${JSON.stringify(image.name)}`);
      return { image: storeImage(state, events, image) };
    },
    update({ image, updateMask = [] }, { namespace }) {
      const state = stateOf(namespace);
      const current = find(state, image?.name ?? '');
      const mask = updateMask.length === 0 ? ['labels', 'target'] : updateMask;
      const updated: Image = { ...current, labels: maskedLabels(current.labels, image?.labels ?? {}, mask) ?? current.labels };
      for (const path of otherPaths(mask, ['target', 'annotations'], current.name)) {
        if (path === 'target') updated.target = image?.target;
        else if (updated.target !== undefined) updated.target = { ...updated.target, annotations: image?.target?.annotations ?? {} };
      }
      return { image: storeImage(state, events, updated) };
    },
    delete({ name, target }, { namespace }) {
      const state = stateOf(namespace);
      const image = find(state, name);
      if (target !== undefined && target.digest !== image.target?.digest) throw notFound(`image ${JSON.stringify(name)} has different target`);
      state.images.delete(name);
      events.publish(namespace, '/images/delete', 'containerd.services.images.v1.ImageDelete', ImageDelete, { name });
      collect(state);
      return {};
    },
  };
}

/** Creates or replaces an image record, as any client of containerd may, and publishes the event. */
export function storeImage(state: NamespaceState, events: EventExchange, image: Image): Image {
  const known = state.images.get(image.name);
  const time = now();
  const stored = { ...image, labels: storedLabels(image.labels), createdAt: known?.createdAt ?? time, updatedAt: time };
  state.images.set(image.name, stored);
  const { name, labels } = stored;
  if (known === undefined) events.publish(state.name, '/images/create', 'containerd.services.images.v1.ImageCreate', ImageCreate, { name, labels });
  else events.publish(state.name, '/images/update', 'containerd.services.images.v1.ImageUpdate', ImageUpdate, { name, labels });
  return stored;
}

function imageFields({ name, labels, target }: Image): Fields {
  return ([field, ...rest]) => {
    if (field === 'name') return name || undefined;
    if (field === 'target' && rest[0] === 'digest') return target?.digest || undefined;
    if (field === 'target' && rest[0] === 'mediatype') return target?.mediaType || undefined;
    if (field === 'annotations') return mapField(rest, target?.annotations ?? {});
    return field === 'labels' ? mapField(rest, labels) : undefined;
  };
}
