import { component, honoured, type MessageFacts } from '../facts.js';

const make = component('create-container');
const pod = component('run-pod-sandbox');

const security = component('security-context');

const USERS = security('X5 group named as user: as /etc/group says with Merge, as CRI says with Strict, and the status reports it');
const TIGHT = security('capabilities, no_new_privs, masked and read-only paths, read-only root');
const PRIVILEGED = make('CreateContainer: privileged: everything the node has, nothing masked, only in a privileged pod');
const SELINUX = make('CreateContainer: SELinux options of the container, else those of the pod');
const SECCOMP = security('X2 a seccomp profile of the node is used as it stands; one that is missing, relative or broken is none');
const APPARMOR = security('AppArmor: the new field, the deprecated one, the default, and a profile that is not loaded');
const PID = security('PID, IPC and network namespaces: the pod decides, and a container of its own PID namespace');
const MODES = pod('RunPodSandbox: namespaces by mode, and the status tells them');
const USERNS = component('user-namespaces')('userns_options mode POD, uids and gids: the pod sandbox');
const STATUS = component('container-status')('ContainerStatus of a container that has failed: everything about it');

/** What a container may do, and as whom. */
export const SECURITY = {
  LinuxContainerSecurityContext: {
    capabilities: honoured('see Capability', TIGHT),
    privileged: honoured('all capabilities and devices, nothing masked, no seccomp; needs a privileged pod', PRIVILEGED),
    namespace_options: honoured('`pid` and `target_id`; network and IPC are the pod\'s', PID),
    selinux_options: honoured('labels of the process and its mounts where SELinux is on', SELINUX),
    run_as_user: honoured('0 to 2^31-1, never wrapped round to root', USERS),
    run_as_group: honoured('needs a user beside it', USERS),
    run_as_username: honoured('looked up in the image; goes before run_as_user', USERS),
    readonly_rootfs: honoured('the root is mounted read-only', TIGHT),
    supplemental_groups: honoured('beside those of the image with Merge', USERS),
    supplemental_groups_policy: honoured('Merge adds the groups of /etc/group, Strict does not', USERS),
    no_new_privs: honoured('noNewPrivileges', TIGHT),
    masked_paths: honoured('as given; none with privileged', TIGHT),
    readonly_paths: honoured('as given; none with privileged', TIGHT),
    seccomp: honoured('the filter; RuntimeDefault is made for the node\'s architecture and the container\'s capabilities', SECCOMP),
    apparmor: honoured('the profile, where the kernel has AppArmor and the profile is loaded; else FailedPrecondition. Without a wish the default profile', APPARMOR),
    apparmor_profile: honoured('counts where `apparmor` is absent', APPARMOR),
    seccomp_profile_path: honoured('counts where `seccomp` is absent', SECCOMP),
  },
  Capability: {
    add_capabilities: honoured('with or without CAP_; ALL is everything the node has', TIGHT),
    drop_capabilities: honoured('ALL begins with nothing', TIGHT),
    add_ambient_capabilities: honoured('added to all sets, the ambient and inheritable ones too', security('X6 ambient capabilities: what is added is ambient when CRI or the configuration says so')),
  },
  SELinuxOption: {
    user: honoured('default system_u', SELINUX),
    role: honoured('default system_r', SELINUX),
    type: honoured('default container_t', SELINUX),
    level: honoured('of process and mounts', SELINUX),
  },
  SecurityProfile: {
    profile_type: honoured('RuntimeDefault, Unconfined, Localhost', SECCOMP),
    localhost_ref: honoured('seccomp: an absolute path; AppArmor: a loaded profile; with Localhost only', SECCOMP),
  },
  NamespaceOption: {
    network: honoured('NODE: the node\'s network and UTS namespaces, no CNI', MODES),
    pid: honoured('POD, CONTAINER, NODE, TARGET, for each container', PID),
    ipc: honoured('NODE: the node\'s IPC namespace and /dev/shm', MODES),
    target_id: honoured('a running container of the same pod, checked at create and at start', security('PID namespace TARGET: the target is looked at again when the container starts')),
    userns_options: honoured('see UserNamespace', USERNS),
  },
  UserNamespace: {
    mode: honoured('POD or NODE; a container\'s must be its pod\'s', component('user-namespaces')("userns_options mode NODE: the node's own user namespace")),
    uids: honoured('one mapping, from 0', USERNS),
    gids: honoured('one mapping, from 0', USERNS),
  },
  IDMapping: {
    host_id: honoured('of the node', USERNS),
    container_id: honoured('inside', component('user-namespaces')('mounts[].uidMappings and gidMappings')),
    length: honoured('how many', USERNS),
  },
  Int64Value: { value: honoured('see where it is used', USERS) },
  ContainerUser: { linux: honoured('see LinuxContainerUser', STATUS) },
  LinuxContainerUser: {
    uid: honoured('as the process has it', STATUS),
    gid: honoured('as the process has it', STATUS),
    supplemental_groups: honoured('as the process has them, the primary one among them', STATUS),
  },
} satisfies MessageFacts;
