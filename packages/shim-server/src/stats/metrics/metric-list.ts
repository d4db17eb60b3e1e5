import type { Metric } from '@criquet/cri-api';
import { METRICS, type BASE_LABELS, type MetricName } from './metric-table.js';

/** Whom metrics are about: a value for each base label. */
export type Subject = Readonly<Record<(typeof BASE_LABELS)[number], string>>;

/** Collects the metrics of one subject. */
export class MetricList {
  readonly metrics: Metric[] = [];
  private readonly labels: readonly string[];

  constructor({ container, id, image, name, namespace, pod }: Subject) {
    this.labels = [container, id, image, name, namespace, pod];
  }

  /**
   * @param value nothing is added without one.
   * @param labels the values of the metric's own labels, in the order of the table.
   * @param at Unix nanoseconds for figures that are shared between calls; 0 for those taken now, as CRI has it.
   */
  add(metric: MetricName, value: bigint | undefined, labels: readonly string[] = [], at = 0n): void {
    if (value === undefined) return;
    this.metrics.push({
      name: metric,
      timestamp: at,
      metricType: METRICS[metric].type,
      labelValues: [...this.labels, ...labels],
      value: { value },
    });
  }
}

/** Whole seconds. */
export function seconds(nanos: bigint | undefined): bigint | undefined {
  return nanos === undefined ? undefined : nanos / 1_000_000_000n;
}
