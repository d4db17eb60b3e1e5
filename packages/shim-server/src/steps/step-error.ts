import { toStatus } from '../grpc/status.js';
import { ShimError } from '../errors.js';

/** Runs `deed`; what it throws keeps its status and gets the step's name in front of its message. */
export async function inStep<T>(step: string, deed: () => Promise<T>): Promise<T> {
  try {
    return await deed();
  } catch (error) {
    if (error instanceof ShimError) {
      throw new ShimError(error.code, `${step}: ${error.message}`, { cause: error, reason: error.reason });
    }
    const { code, message } = toStatus(error);
    throw new ShimError(code, `${step}: ${message}`, { cause: error });
  }
}
