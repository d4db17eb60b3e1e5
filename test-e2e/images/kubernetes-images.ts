import { join } from 'node:path';
import { layOutBaseFiles, PATH } from './base-files.js';
import { fakeRegistry } from './fake-registry.js';
import type { ImageDefinition, LayerDefinition } from './image-set.js';
import { NGINX, nginx, nginxConfiguration } from './nginx.js';
import type { RunConfig } from './oci-image.js';

/*
 * Look-alikes of the images of Kubernetes' own suites (1.37: test/utils/image/manifest.go, and what is in each by its
 * Dockerfile in test/images), made from Debian's packages and from programs of Kubernetes' module. Those that no conformance
 * spec and no spec of NodeConformance runs are left out.
 */

/** What the images are made from beside packages, as `scripts/lib/kubernetes.sh` builds it. */
export interface KubernetesPrograms {
  /** Directory of agnhost, nonewprivs, pause and shell, all linked statically, and of `files`. */
  readonly images: string;
  /** Directory of coredns, linked statically. */
  readonly coredns: string;
  /** The version it is pushed under, for example `v1.14.6`. */
  readonly corednsVersion: string;
}

/** Every image of Kubernetes' suites. */
export function kubernetesImages(programs: KubernetesPrograms): ImageDefinition[] {
  const program = (name: string): string => join(programs.images, name);
  const shell = shellLayer(program('shell'));
  const alpine = [alpineFiles, shell];
  const pause: ImageDefinition = {
    references: ['pause:3.10.2'],
    layers: [{ name: 'pause', layOut: (root) => root.copy(program('pause'), 'pause', 0o755) }],
    config: { Env: [PATH], User: '65535:65535', Entrypoint: ['/pause'], WorkingDir: '/' },
  };
  const coredns: LayerDefinition = {
    name: 'coredns',
    layOut: (root) => root.copy(join(programs.coredns, 'coredns'), 'coredns', 0o755),
  };
  const agnhost = [...alpine, agnhostTools, fakeRegistry('pause', 'testing', pause), coredns, agnhostLayer(programs.images)];
  const agnhostImage = (version: string): ImageDefinition => ({
    references: [`e2e-test-images/agnhost:${version}`],
    layers: agnhost,
    // The label makes two images of what is otherwise one.
    config: { ...AGNHOST, Labels: { version } },
  });
  /** The web server of agnhost with another picture in its root directory. */
  const picture = (name: string): ImageDefinition => ({
    references: [`e2e-test-images/${name}:1.8`],
    layers: [...agnhost, pictureLayer(name, program('files'))],
    config: { ...AGNHOST, Cmd: ['test-webserver'] },
  });
  return [
    pause,
    { references: [`coredns/coredns:${programs.corednsVersion}`], layers: [baseFiles, coredns], config: { Env: [PATH], Entrypoint: ['/coredns'], WorkingDir: '/' } },
    { references: ['e2e-test-images/busybox:1.37.0-2', 'e2e-test-images/busybox:1.36.1-1'], layers: [busyboxFiles, shell], config: { Env: [PATH], Cmd: ['sh'] } },
    agnhostImage('2.66.1'),
    agnhostImage('2.55'),
    picture('kitten'),
    picture('nautilus'),
    { references: ['e2e-test-images/nginx:1.27.0-2'], layers: [...alpine, nginx, nginxConfiguration(80)], config: { ...NGINX, Labels: { version: '1.27.0' } } },
    { references: ['e2e-test-images/nginx:1.28.0-2'], layers: [...alpine, nginx, nginxConfiguration(80)], config: { ...NGINX, Labels: { version: '1.28.0' } } },
    {
      references: ['e2e-test-images/nonewprivs:1.4'],
      layers: [...alpine, { name: 'nonewprivs-of-kubernetes', layOut: (root) => root.copy(program('nonewprivs'), 'usr/local/bin/nnp', 0o6755) }],
      config: { Env: [PATH], Cmd: ['nnp'] },
    },
    { references: ['e2e-test-images/nonroot:1.5'], layers: [debianFiles, shell], config: { ...DEBIAN, User: '1234' } },
    { references: ['e2e-test-images/ipc-utils:1.4'], layers: [...alpine, ipcTools], config: { Env: [PATH], Cmd: ['/bin/sh'] } },
    { references: ['e2e-test-images/glibc-dns-testing:2.1.1'], layers: [debianFiles, shell, nameTools], config: DEBIAN },
  ];
}

const AGNHOST: RunConfig = { Env: [PATH], Entrypoint: ['/agnhost'], Cmd: ['pause'], WorkingDir: '/' };
const DEBIAN: RunConfig = { Env: [PATH], Cmd: ['bash'] };

const baseFiles: LayerDefinition = { name: 'base-files', layOut: (root) => layOutBaseFiles(root) };

/** BusyBox's own image has every applet in /bin, and no file that names a system. */
const busyboxFiles: LayerDefinition = {
  name: 'busybox-in-bin',
  async layOut(root) {
    await layOutBaseFiles(root);
    await root.busybox('bin');
    await root.symlink('usr/bin/env', '../../bin/env');
  },
};

const alpineFiles = systemFiles('alpine', 'NAME="Alpine Linux"\nID=alpine\nPRETTY_NAME="Alpine Linux"\n');
const debianFiles = systemFiles('debian', 'NAME="Debian GNU/Linux"\nID=debian\nPRETTY_NAME="Debian GNU/Linux"\n');

/** Busybox does for the tools of both: what is asked of them is the same. */
function systemFiles(name: string, release: string): LayerDefinition {
  return {
    name: `${name}-files`,
    async layOut(root) {
      await layOutBaseFiles(root);
      await root.busybox();
      await root.file('etc/os-release', release);
    },
  };
}

/** A layer of its own: its /bin/sh takes the place of busybox's, which is one inode with all its applets. */
function shellLayer(shell: string): LayerDefinition {
  return {
    name: 'shell',
    async layOut(root) {
      await root.copy(shell, 'bin/sh', 0o755);
      await root.program(await root.first('usr/bin/bash', 'bin/bash'), 'bin/bash');
      await root.file('bin/nmeter', NMETER, 0o755);
    },
  };
}

/** Debian's busybox lacks nmeter. The node suite has it print the time of day with milliseconds, and takes the first line. */
const NMETER = `#!/bin/bash
export TZ=UTC0
now=$EPOCHREALTIME
printf '%(%H:%M:%S)T.%s\\n' "\${now%.*}" "\${now:11:3}"
`;

const ipcTools: LayerDefinition = {
  name: 'ipc-tools',
  async layOut(root) {
    for (const name of ['ipcs', 'ipcmk', 'ipcrm', 'lsns', 'nsenter']) await root.program(`usr/bin/${name}`);
  },
};

const nameTools: LayerDefinition = {
  name: 'name-tools',
  async layOut(root) {
    for (const name of ['dig', 'nslookup', 'host', 'getent']) await root.program(`usr/bin/${name}`);
    await root.program(await root.first('usr/bin/hostname', 'bin/hostname'), 'bin/hostname');
  },
};

/** The packages that agnhost's image has beside Alpine's own, and the users that a spec of supplemental groups asks for. */
const agnhostTools: LayerDefinition = {
  name: 'agnhost-tools',
  async layOut(root) {
    await ipcTools.layOut(root);
    for (const name of ['dig', 'nslookup', 'host', 'getent', 'curl', 'iperf']) await root.program(`usr/bin/${name}`);
    await root.program(await root.first('usr/bin/socat1', 'usr/bin/socat'), 'usr/bin/socat');
    await root.program(await root.first('usr/bin/nc.openbsd', 'bin/nc.openbsd'), 'usr/bin/nc');
    await root.program(await root.first('usr/bin/ip', 'bin/ip'), 'sbin/ip');
    await root.program(await root.first('usr/bin/ss', 'bin/ss'), 'bin/ss');
    await root.symlink('usr/local/bin/iperf', '/usr/bin/iperf');
    await layOutBaseFiles(root, {
      passwd: 'user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n',
      group: 'user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n',
    });
    await root.directory('home/user-defined-in-image');
  },
};

function agnhostLayer(programs: string): LayerDefinition {
  return {
    name: 'agnhost',
    async layOut(root) {
      await root.copy(join(programs, 'agnhost'), 'agnhost', 0o755);
      // A spec of entry points looks for the name that it was called by.
      await root.symlink('agnhost-2', 'agnhost');
      for (const name of ['localhost.crt', 'localhost.key']) await root.copy(join(programs, 'files', name), name);
      await root.directory('uploads');
    },
  };
}

function pictureLayer(name: string, files: string): LayerDefinition {
  return {
    name: `picture-${name}`,
    async layOut(root) {
      for (const file of [`${name}.jpg`, 'data.json']) await root.copy(join(files, name, file), file);
    },
  };
}
