import { checkpoints } from './checkpoints.js';
import { logs } from './logs.js';
import { probeMetrics } from './probe-metrics.js';
import { sideBySide } from './side-by-side.js';
import { streams } from './streams.js';

await sideBySide(
  { logs, streams, checkpoints, 'probe metrics': probeMetrics },
  {
    known: [
      {
        at: /^exec\/v4\.channel\.k8s\.io status\.(metadata|message)$/,
        why: "the plugin's message names the command once more; what clients read is the cause, and that is the same",
      },
    ],
    fields: { containerLogMaxSize: '200Ki', containerLogMaxFiles: 3, containerLogMonitorInterval: '3s', crashLoopBackOff: { maxContainerRestartPeriod: '2s' } },
  },
);
