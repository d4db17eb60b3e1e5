import * as z from 'zod';
import type { CamelKeys } from './camel-case.js';
import {
  absolutePath,
  absolutePaths,
  byteSize,
  duration,
  durationOrNever,
  flag,
  globs,
  key,
  nonEmptyText,
  optionalKey,
  optionalPath,
  table,
  text,
  ulimits,
  unixAddress,
  wholeNumber,
} from './values.js';

/** Levels of the daemon's log, the most talkative last; "silent" logs nothing. */
export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

const handler = z
  .strictObject({
    runtime_type: key(
      nonEmptyText,
      'io.containerd.runc.v2',
      'Name of the containerd shim: "io.containerd.runc.v2" runs the binary containerd-shim-runc-v2.',
    ),
    runtime_path: key(
      optionalPath,
      '',
      "Path of the shim's binary. Unset: containerd looks the name up beside itself and in PATH.",
    ),
    binary_name: key(text, '', 'The OCI runtime that a runc-compatible shim calls: a name or a path. Unset: "runc".'),
    root: key(optionalPath, '', "The OCI runtime's own state directory. Unset: the shim's default."),
    systemd_cgroup: optionalKey(
      flag,
      'Whether the OCI runtime makes cgroups through systemd. Unset: found out from the running system.',
    ),
    config_path: key(
      optionalPath,
      '',
      'Configuration file handed to a shim that is not runc-compatible (its option type is runtimeoptions.v1.Options).',
    ),
    pod_annotations: key(
      globs,
      [],
      "Which annotations of a pod go into the OCI spec of its pause process and of its containers: globs as in Go's path.Match, where * does not match a slash.",
    ),
    container_annotations: key(globs, [], 'Which annotations of a container go into its OCI spec; globs as above.'),
    base_runtime_spec: key(
      optionalPath,
      '',
      'An OCI runtime spec (JSON) that containers are made from: what CRI and criquet decide goes over it, the rest of it stays (rlimits, hooks, further mounts, default capabilities, a seccomp or AppArmor profile where the pod has none). Read at start.',
    ),
    cgroup_writable: key(
      flag,
      false,
      'Whether containers that are not privileged may write to their cgroup. Needs cgroup v2.',
    ),
    privileged_without_host_devices: key(flag, false, "Whether privileged containers do without the node's devices."),
    privileged_without_host_devices_all_devices_allowed: key(
      flag,
      false,
      'With privileged_without_host_devices: whether privileged containers may still make and open any device node.',
    ),
    snapshotter: key(text, '', 'Snapshotter plugin of containerd for the containers of this handler. Unset: containerd.snapshotter.'),
    cni_conf_dir: key(
      optionalPath,
      '',
      'Directory of network configurations for the pods of this handler, watched as cni.conf_dir is. Unset: cni.conf_dir.',
    ),
    cni_max_conf_num: key(wholeNumber(1, 100), 1, 'How many configuration files of cni_conf_dir become networks of a pod.'),
  })
  .meta({ description: 'One runtime handler; a pod asks for it by RuntimeClass.' });

/**
 * Every key of the configuration file with its type, default and documentation; there is no other list.
 * Durations become milliseconds and sizes become bytes in {@link CriquetConfig}.
 */
export const configSchema = z.strictObject({
  listen: key(unixAddress, 'unix:///run/criquet/criquet.sock', 'The unix socket on which CRI is served.'),
  state_dir: key(
    absolutePath,
    '/run/criquet',
    'Volatile state, gone after a reboot: network namespace pins, FIFOs, shared memory of pods.',
  ),
  root_dir: key(
    absolutePath,
    '/var/lib/criquet',
    "Persistent state: files of pods (hosts, hostname, resolv.conf) and the pause process' root directory.",
  ),
  log_level: key(
    z.enum(LOG_LEVELS).meta({ allowed: `one of ${LOG_LEVELS.map((level) => `"${level}"`).join(', ')}` }),
    'info',
    'How much the daemon logs.',
  ),
  sandbox_image: key(
    text,
    '',
    'Image of the process that holds a pod together. Unset: the built-in pause, which needs no image and no registry.',
  ),
  containerd: table(
    {
      address: key(unixAddress, 'unix:///run/containerd/containerd.sock', "containerd's gRPC socket."),
      namespace: key(
        nonEmptyText,
        'k8s.io',
        "containerd namespace that holds the pods. cAdvisor in the kubelet looks only into k8s.io; containerd's own CRI plugin must be off there.",
      ),
      snapshotter: key(nonEmptyText, 'overlayfs', 'Snapshotter plugin of containerd that unpacks images.'),
      connect_timeout: key(duration, '10s', 'How long the start-up waits for containerd to answer.'),
      call_timeout: key(
        duration,
        '2m',
        'Longest time for one call to containerd that is not bounded by the CRI call it belongs to. Pulls are not concerned.',
      ),
    },
    'The containerd to work with.',
  ),
  grpc: table(
    {
      max_message_size: key(
        byteSize(4 * 2 ** 20, 2 ** 30, 'from 4Mi to 1Gi'),
        '16Mi',
        'Largest request and largest reply of CRI; what is larger is answered with RESOURCE_EXHAUSTED. The kubelet takes replies of 16Mi; the Stream* calls answer in parts.',
      ),
      max_event_streams: key(
        wholeNumber(1, 10_000),
        32,
        'GetContainerEvents calls under way at once; one more is answered with RESOURCE_EXHAUSTED. The kubelet makes one.',
      ),
    },
    'The CRI service.',
  ),
  runtime: table(
    {
      default_handler: key(nonEmptyText, 'runc', 'The handler of pods that name none; one of the tables below runtime.handlers.'),
      handlers: z
        .record(z.string().min(1), handler)
        .prefault({ runc: {} })
        .meta({ description: 'One table a runtime handler; "runc" exists without being written here.' }),
    },
    'OCI runtimes.',
  ),
  cni: table(
    {
      conf_dir: key(
        absolutePath,
        '/etc/cni/net.d',
        'Directory of network configurations (.conflist, .conf, .json); watched, the first in lexical order counts.',
      ),
      bin_dirs: key(absolutePaths, ['/opt/cni/bin', '/usr/lib/cni'], 'Directories that are searched for plugins, in this order.'),
      cache_dir: key(
        absolutePath,
        '/var/lib/cni',
        'Where the configuration and result of each attachment are kept until its DEL.',
      ),
      conf_template: key(
        optionalPath,
        '',
        "Template of a network configuration list, rendered into conf_dir when the kubelet tells the node's pod CIDR.",
      ),
      max_conf_num: key(wholeNumber(1, 100), 1, 'How many configuration files of conf_dir become networks of a pod; the first is eth0.'),
      netns_dir: key(optionalPath, '', "Where network namespaces are pinned. Unset: netns below state_dir."),
      add_timeout: key(duration, '90s', 'Longest time for attaching a pod to all its networks; plugins are killed then.'),
      del_timeout: key(duration, '60s', 'Longest time for detaching a pod; plugins are killed then and the DEL is tried again later.'),
      status_timeout: key(duration, '5s', "Longest time for a plugin's STATUS."),
      gc_interval: key(
        durationOrNever,
        '1h',
        "How often plugins are told which attachments exist (GC, from CNI 1.1 on), so that they free what belongs to no pod; also at start. Turn it off where a network's plugins serve another runtime too whose attachments stand neither in cache_dir nor in /var/lib/cni.",
      ),
    },
    'Pod networks.',
  ),
  image: table(
    {
      hosts_dir: key(
        optionalPath,
        '/etc/containerd/certs.d',
        'Directory of registry host configurations (REGISTRY/hosts.toml): mirrors, certificates, plain HTTP. Unset: none.',
      ),
      pull_progress_timeout: key(
        duration,
        '5m',
        'A pull is given up when a layer that is being downloaded gains no byte for this long. Waiting for a slot and unpacking do not count.',
      ),
      max_parallel_pulls: key(
        wholeNumber(0, 1000),
        0,
        'Pulls under way at once, others wait; 0 sets no limit. containerd itself downloads at most max_concurrent_downloads blobs (3) at once.',
      ),
      max_pulls: key(
        wholeNumber(0, 1_000_000),
        1000,
        'Pulls under way and waiting together; one more is answered with RESOURCE_EXHAUSTED. 0 sets no limit.',
      ),
    },
    'Images.',
  ),
  container: table(
    {
      max_log_line_size: key(
        wholeNumber(256, 1024 * 1024),
        16384,
        'Longest record of a container log in bytes; a longer line is split into partial records.',
      ),
      stop_timeout: key(duration, '2m', 'How long to wait for the exit of a container after SIGKILL before the stop fails.'),
      shm_size: key(byteSize(4096, 2 ** 40, 'from 4Ki to 1024Gi'), '64Mi', "Size of a pod's /dev/shm."),
      ignore_image_defined_volumes: key(
        flag,
        false,
        "Whether the volumes that an image declares (VOLUME) are left out; its own root file system is then written to. Otherwise each is a directory below root_dir that begins as a copy of the image's.",
      ),
      exec_sync_output_limit: key(
        byteSize(1024, 16 * 2 ** 20 - 65536, 'from 1Ki to 16Mi less 64Ki (the kubelet refuses a reply of 16Mi)'),
        '15Mi',
        'Standard output and error of one ExecSync together; what is beyond is read and dropped.',
      ),
      exec_sync_output_total: key(
        byteSize(2 ** 20, 2 ** 40, 'from 1Mi to 1024Gi'),
        '256Mi',
        'Output of all ExecSync calls under way that is kept in memory for their answers; what is beyond is read and dropped.',
      ),
      max_execs: key(
        wholeNumber(0, 1_000_000),
        1024,
        'Commands (ExecSync, Exec) that run at once in all containers; one more is answered with RESOURCE_EXHAUSTED. 0 sets no limit.',
      ),
      max_execs_per_container: key(
        wholeNumber(0, 1_000_000),
        256,
        'Commands (ExecSync, Exec) that run at once in one container; one more is answered with RESOURCE_EXHAUSTED. 0 sets no limit.',
      ),
      max_attach_clients: key(
        wholeNumber(0, 1_000_000),
        64,
        'Clients attached at once to one container; one more is answered with RESOURCE_EXHAUSTED. 0 sets no limit.',
      ),
    },
    'Containers.',
  ),
  devices: table(
    {
      cdi_spec_dirs: key(
        absolutePaths,
        ['/etc/cdi', '/var/run/cdi'],
        'Directories of CDI specifications (.json, .yaml); changed files count at once, and a device that two directories define is the later one\'s.',
      ),
      device_ownership_from_security_context: key(
        flag,
        false,
        "Whether a container's devices belong to its run_as_user and run_as_group, where these are not root, instead of to their owners on the node.",
      ),
    },
    'Devices of containers.',
  ),
  resources: table(
    {
      default_ulimits: key(
        ulimits,
        [],
        "Resource limits (setrlimit) of every container's processes. Unset: those of containerd's shim. A hard limit above the shim's own needs CAP_SYS_RESOURCE.",
      ),
      tolerate_missing_hugetlb_controller: key(
        flag,
        true,
        'Whether limits of huge pages are left out on a node without the hugetlb cgroup controller; otherwise such a container is refused.',
      ),
      blockio_config_file: key(
        optionalPath,
        '',
        "File of block IO classes, YAML in goresctrl's format; read when a container is in a class. Unset: there are no classes.",
      ),
      ignore_blockio_not_enabled_errors: key(
        flag,
        false,
        'Whether the block IO class of a container is left out on a node without usable classes; otherwise such a container is refused.',
      ),
      ignore_rdt_not_enabled_errors: key(
        flag,
        false,
        'Whether the RDT class of a container is left out on a node without resctrl; otherwise such a container is refused.',
      ),
    },
    'Resources of containers beyond what CRI says.',
  ),
  security: table(
    {
      ambient_capabilities: key(
        flag,
        false,
        'Whether capabilities that a container adds are ambient too: then a process that is not root has them. Without it they only stay within its reach (bounding set).',
      ),
      disable_apparmor: key(flag, false, 'Whether AppArmor is left alone though the kernel has it: a profile that is asked for is an error then.'),
      apparmor_parser: key(
        optionalPath,
        '',
        'The program that loads the default AppArmor profile. Unset: apparmor_parser from PATH, /usr/sbin or /sbin.',
      ),
    },
    'Security of containers.',
  ),
  checkpoint: table(
    {
      timeout: key(duration, '2m', 'Longest time for a CheckpointContainer that names no timeout of its own.'),
      restore_images: key(
        flag,
        false,
        "Whether a container whose image is a checkpoint is restored from it. Its processes then have the user, the capabilities and the seccomp filters that the checkpoint says, whatever the pod's security context is: only for nodes where every image comes from a registry that is trusted that far.",
      ),
    },
    'Checkpoints. They need CRIU on the PATH of containerd.',
  ),
  streaming: table(
    {
      address: key(
        nonEmptyText,
        '127.0.0.1',
        'Address on which exec, attach and port-forward are served over HTTP. The kubelet connects to it; it need not be reachable from elsewhere.',
      ),
      port: key(wholeNumber(0, 65535), 0, 'Port of that server; 0 takes a free one.'),
      enable_tls: key(flag, false, 'Whether it speaks TLS; cert_file and key_file are needed then.'),
      cert_file: key(optionalPath, '', 'Certificate, PEM, with what is between it and its root. A changed file is used within seconds.'),
      key_file: key(optionalPath, '', 'Its private key, PEM.'),
      idle_timeout: key(duration, '4h', 'A connection on which nothing moves for this long is closed.'),
      token_ttl: key(duration, '1m', 'How long the URL that Exec, Attach or PortForward answers with can be used, once.'),
      token_limit: key(
        wholeNumber(1, 1_000_000),
        1000,
        'URLs that were given out and not used yet; a call beyond it is answered with RESOURCE_EXHAUSTED.',
      ),
      max_streams: key(
        wholeNumber(0, 1_000_000),
        2048,
        'Execs, attaches, port-forwards and the connections that these forward, under way at once; one more is answered with RESOURCE_EXHAUSTED, or over HTTP with 503. 0 sets no limit.',
      ),
      stream_creation_timeout: key(duration, '30s', 'How long a client may take to open its streams after it has connected.'),
    },
    'The server for exec, attach and port-forward.',
  ),
});

/** The configuration as it stands in a file: snake_case keys, durations and sizes in text, everything optional. */
export type ConfigFile = z.input<typeof configSchema>;

/** The complete configuration of the daemon: camelCase keys, durations in milliseconds, sizes in bytes. */
export type CriquetConfig = CamelKeys<z.output<typeof configSchema>>;

/** One runtime handler of {@link CriquetConfig}. */
export type RuntimeHandlerConfig = CriquetConfig['runtime']['handlers'][string];
export type LogLevel = (typeof LOG_LEVELS)[number];
