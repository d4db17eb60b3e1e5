import { layOutBaseFiles, PATH } from './base-files.js';
import { exampleImages } from './example-images.js';
import type { ImageDefinition, LayerDefinition } from './image-set.js';
import { NGINX, nginx, nginxConfiguration } from './nginx.js';
import { imageArchitecture, type RunConfig } from './oci-image.js';

/*
 * Look-alikes of the images that critest 1.37 pulls (cri-tools, pkg/validate/consts.go and the Dockerfiles in images/),
 * made from Debian's packages and kept under their repository names. `test-image-digest` is not among them: critest pulls
 * it by a digest that only the real image has.
 */

const SHELL: RunConfig = { Env: [PATH], Cmd: ['sh'] };
const CRI_TOOLS = 'k8s-staging-cri-tools';

const busybox: LayerDefinition = {
  name: 'busybox-with-process-tools',
  async layOut(root) {
    await layOutBaseFiles(root);
    await root.busybox();
    await root.program('usr/bin/ipcs');
    await root.program('usr/bin/pgrep');
  },
};

/** An image of its own id: busybox and one empty file, as critest's `image-test` Dockerfile has it. */
function testImage(name: string, tags: readonly string[]): ImageDefinition {
  const marker: LayerDefinition = { name: `marker-${name}-${tags.join('-')}`, layOut: (root) => root.file(`${name}-${tags[0] ?? ''}`, '') };
  return { references: tags.map((tag) => `${CRI_TOOLS}/${name}:${tag}`), layers: [busybox, marker], config: SHELL };
}

function userImage(name: string, user: string): ImageDefinition {
  return { references: [`${CRI_TOOLS}/${name}:latest`], layers: [busybox], config: { ...SHELL, User: user } };
}

/** Says which signal it got by its exit code; signal 37 is SIGRTMIN+3. */
function stopSignalImage(tag: string, signal: string): ImageDefinition {
  const traps = 'trap "exit 6" HUP; trap "exit 7" USR1; trap "exit 8" TERM; trap "exit 9" 37';
  return {
    references: [`criquet-e2e/stop-signal:${tag}`],
    layers: [busybox],
    config: { Env: [PATH], Cmd: ['sh', '-c', `${traps}; echo ready; while :; do sleep 0.1; done`], StopSignal: signal },
  };
}

const predefinedGroup: LayerDefinition = {
  name: 'predefined-group',
  layOut: (root) =>
    layOutBaseFiles(root, {
      passwd: 'default-user:x:1000:1000::/home/default-user:/bin/sh\n',
      group: 'default-user:x:1000:\ngroup-defined-in-image:x:50000:default-user\n',
    }),
};

/** A set-user-id program that prints its effective user id. */
const noNewPrivs: LayerDefinition = {
  name: 'nonewprivs',
  async layOut(root) {
    await root.program(await root.first('usr/bin/id', 'bin/id'), 'bin/id-as-root', 0o4755);
  },
};

/** No `sleep`: critest looks for a leftover one in the pod's process namespace, where this is process 1. */
const PAUSE = ['tail', '-f', '/dev/null'];

const critestImages: readonly ImageDefinition[] = [
  { references: ['e2e-test-images/busybox:1.29-2'], layers: [busybox], config: SHELL },
  { references: ['e2e-test-images/nginx:1.14-2'], layers: [busybox, nginx, nginxConfiguration(80)], config: NGINX },
  {
    references: [`${CRI_TOOLS}/hostnet-nginx-${imageArchitecture()}:latest`],
    layers: [busybox, nginx, nginxConfiguration(12003)],
    config: NGINX,
  },
  {
    references: ['e2e-test-images/httpd:2.4.39-4'],
    layers: [busybox, { name: 'httpd', layOut: (root) => root.file('www/index.html', '<h1>It works</h1>\n') }],
    config: { Env: [PATH], Cmd: ['sh', '-c', 'echo httpd is starting; exec httpd -f -v -p 80 -h /www'] },
    form: 'docker',
  },
  {
    references: ['e2e-test-images/nonewprivs:1.3'],
    layers: [busybox, noNewPrivs],
    config: { Env: [PATH], Cmd: ['sh', '-c', 'echo "Effective uid: $(/bin/id-as-root -u)"'] },
  },
  testImage('test-image-latest', ['latest']),
  testImage('test-image-tag', ['test']),
  testImage('test-image-tag', ['all']),
  testImage('test-image-1', ['latest']),
  testImage('test-image-2', ['latest']),
  testImage('test-image-3', ['latest']),
  testImage('test-image-tags', ['1', '2', '3']),
  userImage('test-image-user-uid', '1002'),
  userImage('test-image-user-username', 'www-data'),
  userImage('test-image-user-uid-group', '1003:1004'),
  userImage('test-image-user-username-group', 'www-data:1004'),
  {
    references: [`${CRI_TOOLS}/test-image-predefined-group:latest`],
    layers: [busybox, predefinedGroup],
    config: { ...SHELL, User: '1000' },
  },
  // Two images: critest removes pause:3.9, and containerd's own plugin keeps the other for its sandboxes.
  { references: ['pause:3.9'], layers: [busybox], config: { Env: [PATH], Entrypoint: PAUSE } },
  {
    references: ['pause:3.10'],
    layers: [busybox],
    config: { Env: [PATH], Entrypoint: PAUSE, Labels: { for: 'sandboxes' } },
  },
];

/** What a volume begins with, and links that would lead to the node. */
const volumeContent: LayerDefinition = {
  name: 'volume-content',
  async layOut(root) {
    await root.file('data/seed', 'from the image\n', 0o640);
    await root.file('data/script', '#!/bin/sh\necho it runs\n', 0o4755);
    await root.directory('data/shared', 0o1777);
    await root.symlink('data/link', 'seed');
    await root.symlink('leads-out', '../../../../../../../../../etc');
    await root.file('etc/criquet/inside', 'of the image\n');
    await root.symlink('absolute', '/data');
    await root.symlink('to-the-node', '/proc/1/root');
  },
};

/** Images for the suites of this project: each has one property that a test needs. */
const ownImages: readonly ImageDefinition[] = [
  { references: ['criquet-e2e/no-command:1'], layers: [busybox], config: { Env: [PATH] } },
  { references: ['criquet-e2e/unknown-user:1'], layers: [busybox], config: { ...SHELL, User: 'nobody-of-that-name' } },
  { references: ['criquet-e2e/overflowing-user:1'], layers: [busybox], config: { ...SHELL, User: '4294967296:0' } },
  stopSignalImage('1', 'SIGUSR1'),
  stopSignalImage('real-time', 'SIGRTMIN+3'),
  stopSignalImage('number', '15'),
  {
    references: ['criquet-e2e/entrypoint:1'],
    layers: [busybox],
    config: {
      Env: [PATH, 'FROM_IMAGE=yes', 'BOTH=image'],
      Entrypoint: ['sh', '-c', 'echo "$0 $@ in $(pwd) FROM_IMAGE=$FROM_IMAGE BOTH=$BOTH"', 'entry'],
      Cmd: ['command'],
      WorkingDir: '/var/www',
    },
    form: 'manifest',
  },
  {
    references: ['criquet-e2e/volumes:1'],
    layers: [busybox, volumeContent],
    config: { ...SHELL, Volumes: { '/data': {}, '/not/in/the/image': {}, '/leads-out/criquet': {} } },
  },
  { references: ['criquet-e2e/single-layer:1'], layers: [volumeContent], config: {} },
];

/** Every image of the end-to-end suites. */
export const suiteImages: readonly ImageDefinition[] = [...exampleImages, ...critestImages, ...ownImages];
