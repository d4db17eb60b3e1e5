import { singleton } from 'tsyringe';
import { KeyedMutex } from '../state/keyed-mutex.js';

/** One start, stop or removal of a container at a time. */
@singleton()
export class ContainerLocks extends KeyedMutex {}
