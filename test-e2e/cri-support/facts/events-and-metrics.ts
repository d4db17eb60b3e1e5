import { component, honoured, type MessageFacts } from '../facts.js';

const EVENTS = component('container-events')('T3: created, started, stopped, deleted in order, each with a status at least as new');
const METRICS = component('metrics')('metrics of a pod and its container');
const DESCRIPTORS = component('metrics')('every metric has a descriptor with as many labels');

export const EVENTS_AND_METRICS = {
  ContainerEventResponse: {
    container_id: honoured('of the container, or of the pod for its own events', EVENTS),
    container_event_type: honoured('created, started, stopped, deleted', EVENTS),
    created_at: honoured('when it happened, nanoseconds', EVENTS),
    pod_sandbox_status: honoured('as it was right after it', EVENTS),
    containers_statuses: honoured('of the whole pod, as they were right after it', EVENTS),
  },
  ListMetricDescriptorsResponse: { descriptors: honoured('every metric once', DESCRIPTORS) },
  MetricDescriptor: {
    name: honoured('cAdvisor\'s', DESCRIPTORS),
    help: honoured('what it counts', DESCRIPTORS),
    label_keys: honoured('in the order of the values', DESCRIPTORS),
  },
  ListPodSandboxMetricsResponse: { pod_metrics: honoured('ready pods', METRICS) },
  StreamPodSandboxMetricsResponse: { pod_sandbox_metrics: honoured('about 1 MiB a message', METRICS) },
  PodSandboxMetrics: {
    pod_sandbox_id: honoured('the full id', METRICS),
    metrics: honoured('the network', METRICS),
    container_metrics: honoured('running containers', METRICS),
  },
  ContainerMetrics: {
    container_id: honoured('the full id', METRICS),
    metrics: honoured('CPU, memory, IO, processes, limits, pressure and more', METRICS),
  },
  Metric: {
    name: honoured('see MetricDescriptor', METRICS),
    timestamp: honoured('of the sample when calls share it; 0 is now', METRICS),
    metric_type: honoured('counter or gauge', METRICS),
    label_values: honoured('one for each key', METRICS),
    value: honoured('whole numbers', METRICS),
  },
} satisfies MessageFacts;
