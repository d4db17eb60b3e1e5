import type { Cni, ConfigDirectory, NetnsProvider } from '@criquet/network-cni';
import type { Containerd, ContainerdReport } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import type { InjectionToken } from 'tsyringe';
import type { AppArmorProfiles } from './apparmor/index.js';
import type { CdiDirectories } from './cdi/index.js';
import type { CriuProbe } from './checkpoint/criu-probe.js';
import type { CriquetConfig } from './config/index.js';
import type { Xattrs } from './runtime/xattrs.js';
import type { NodeFacts } from './spec/index.js';
import type { ContainerRecord } from './state/container-record.js';
import type { RecordStore } from './state/record-store.js';
import type { SandboxRecord } from './state/sandbox-record.js';
import type { Layout } from './state/layout.js';
import type { Failpoints } from './steps/failpoints.js';
import type { StreamServer } from './streaming/index.js';

/** Where the kernel's files are; other directories in tests only. */
export interface NodeRoots {
  /** `/proc`. */
  readonly proc: string;
  /** `/sys`. */
  readonly sys: string;
}

const token = <T>(name: string): InjectionToken<T> => Symbol(name);

/** What the composition root provides; classes are injected by themselves. */
export const Token = {
  Config: token<CriquetConfig>('Config'),
  Logger: token<Logger>('Logger'),
  Containerd: token<Containerd>('Containerd'),
  ContainerdReport: token<ContainerdReport>('ContainerdReport'),
  Cni: token<Cni>('Cni'),
  NetworkConfig: token<ConfigDirectory>('NetworkConfig'),
  Netns: token<NetnsProvider>('Netns'),
  CriuProbe: token<CriuProbe>('CriuProbe'),
  NodeFacts: token<NodeFacts>('NodeFacts'),
  NodeRoots: token<NodeRoots>('NodeRoots'),
  AppArmorProfiles: token<AppArmorProfiles>('AppArmorProfiles'),
  CdiDirectories: token<CdiDirectories>('CdiDirectories'),
  Layout: token<Layout>('Layout'),
  /** {@link DaemonIdentity.instance} of this daemon. */
  DaemonInstance: token<string>('DaemonInstance'),
  Sandboxes: token<RecordStore<SandboxRecord>>('Sandboxes'),
  Containers: token<RecordStore<ContainerRecord>>('Containers'),
  Xattrs: token<Xattrs>('Xattrs'),
  Failpoints: token<Failpoints>('Failpoints'),
  StreamServer: token<StreamServer>('StreamServer'),
  /** Path of the laid-out root of the built-in pause. */
  PauseRoot: token<string>('PauseRoot'),
  /** Path of the pause program in it. */
  PauseProgram: token<string>('PauseProgram'),
} as const;

export type Sandboxes = RecordStore<SandboxRecord>;
export type Containers = RecordStore<ContainerRecord>;
