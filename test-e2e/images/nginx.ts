import { PATH } from './base-files.js';
import type { LayerDefinition } from './image-set.js';
import type { RunConfig } from './oci-image.js';

/** nginx itself: critest looks for its process title and its pid file. */
export const nginx: LayerDefinition = {
  name: 'nginx',
  async layOut(root) {
    await root.program('usr/sbin/nginx');
    await root.file('usr/share/nginx/html/index.html', '<h1>Welcome</h1>\n');
    await root.directory('var/log/nginx');
    await root.directory('var/lib/nginx');
  },
};

export function nginxConfiguration(port: number): LayerDefinition {
  return {
    name: `nginx-on-${port}`,
    layOut: (root) =>
      root.file(
        'etc/nginx/nginx.conf',
        `user nobody nogroup;
worker_processes 1;
pid /run/nginx.pid;
error_log /dev/stderr notice;
events { worker_connections 64; }
http {
  access_log /dev/stdout;
  server { listen ${port}; root /usr/share/nginx/html; }
}
`,
      ),
  };
}

/** How a container of it runs. */
export const NGINX: RunConfig = { Env: [PATH], Cmd: ['nginx', '-g', 'daemon off;'], StopSignal: 'SIGQUIT' };
