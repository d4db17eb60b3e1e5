/* A process that does nothing but make calls: `Caller` starts it and sends it orders. */
import { burst, type BurstOrder } from './burst.js';

process.on('message', (order: BurstOrder) => {
  burst(order).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
// Whoever started it has gone.
process.on('disconnect', () => process.exit());
