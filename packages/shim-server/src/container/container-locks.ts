import { Lifecycle, scoped } from 'tsyringe';
import { KeyedMutex } from '../state/keyed-mutex.js';

/** One start, stop or removal of a container at a time. */
@scoped(Lifecycle.ContainerScoped)
export class ContainerLocks extends KeyedMutex {}
