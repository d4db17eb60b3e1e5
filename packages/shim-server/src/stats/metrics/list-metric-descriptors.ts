import type { ListMetricDescriptorsRequest, ListMetricDescriptorsResponse } from '@criquet/cri-api';
import { Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../../grpc/call-context.js';
import { metricDescriptors } from './metric-table.js';

/** CRI ListMetricDescriptors. */
@scoped(Lifecycle.ContainerScoped)
export class ListMetricDescriptors {
  readonly handle: UnaryCall<ListMetricDescriptorsRequest, ListMetricDescriptorsResponse> = () =>
    Promise.resolve({ descriptors: metricDescriptors() });
}
