import { join } from 'node:path';
import { Daemon } from '../daemon.js';
import type { Environment } from '../environment.js';
import { findProgram } from './find-program.js';

export interface EtcdOptions {
  readonly environment: Environment;
  /** Where its data, log and pid file go. */
  readonly directory: string;
}

/** An etcd on loopback of the suite's own network, one at a time. What it holds is lost with its machine: it does not flush. */
export class Etcd {
  readonly url = CLIENTS;

  private constructor(readonly daemon: Daemon) {}

  static async start({ environment, directory }: EtcdOptions): Promise<Etcd> {
    const daemon = await Daemon.start({
      name: 'etcd',
      program: await findProgram(environment, 'etcd'),
      args: [
        '--name=etcd',
        `--data-dir=${join(directory, 'etcd')}`,
        `--listen-client-urls=${CLIENTS}`,
        `--advertise-client-urls=${CLIENTS}`,
        `--listen-peer-urls=${PEERS}`,
        `--initial-advertise-peer-urls=${PEERS}`,
        `--initial-cluster=etcd=${PEERS}`,
        '--unsafe-no-fsync',
        '--log-level=warn',
      ],
      directory,
      ready: async () => {
        const response = await fetch(`${CLIENTS}/health`);
        if (!response.ok) throw new Error(`/health: ${response.status}`);
      },
    });
    return new Etcd(daemon);
  }
}

const CLIENTS = 'http://127.0.0.1:2379';
const PEERS = 'http://127.0.0.1:2380';
