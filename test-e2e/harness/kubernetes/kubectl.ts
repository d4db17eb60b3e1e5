import { join } from 'node:path';
import { patience } from '../environment.js';
import { run, tryRun, type RunResult } from '../run.js';
import { RunningCommand } from '../running-command.js';

/** A Kubernetes object as it is applied. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** kubectl with one kubeconfig, and one namespace where a command has one. */
export class Kubectl {
  /** @param directory where it keeps its cache */
  constructor(
    readonly program: string,
    readonly kubeconfig: string,
    private readonly directory: string,
    readonly namespace = 'default',
  ) {}

  /** The same in another namespace. */
  in(namespace: string): Kubectl {
    return new Kubectl(this.program, this.kubeconfig, this.directory, namespace);
  }

  /** Runs it and returns what it printed. Throws with its error output when it fails; killed after two minutes. */
  run(...args: string[]): Promise<string> {
    return run(this.program, this.arguments(args), { timeoutMs: 120_000, env: this.env });
  }

  /** As `run`, but a failure is a result. */
  attempt(args: readonly string[], options: { readonly input?: string | Buffer; readonly timeoutMs?: number } = {}): Promise<RunResult> {
    return tryRun(this.program, this.arguments(args), { timeoutMs: 120_000, ...options, env: this.env });
  }

  /** As `run` with `--output=json`, parsed. */
  async json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.run(...args, '--output=json')) as T;
  }

  /** Makes the objects, or changes them to what is given. */
  async apply(...objects: readonly KubernetesObject[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    await run(this.program, this.arguments(['apply', '--filename=-']), { timeoutMs: 120_000, env: this.env, input });
  }

  /** Waits for a condition of `kubectl wait --for`, for example `wait('condition=Ready', 'pod/a')`. Default time limit: a minute. */
  async wait(condition: string, target: string, timeoutSeconds = 60): Promise<void> {
    await this.within(timeoutSeconds, 'wait', `--for=${condition}`, target);
  }

  /** Waits until a Deployment, DaemonSet or StatefulSet is rolled out. Default time limit: two minutes. */
  async rolledOut(workload: string, timeoutSeconds = 120): Promise<void> {
    await this.within(timeoutSeconds, 'rollout', 'status', workload);
  }

  private async within(seconds: number, ...args: string[]): Promise<void> {
    const limit = Math.ceil(patience(seconds));
    await run(this.program, this.arguments([...args, `--timeout=${limit}s`]), { timeoutMs: (seconds + 30) * 1_000, env: this.env });
  }

  /** Deletes, and waits until it is gone. Deleting what is gone succeeds. */
  async delete(...targets: string[]): Promise<void> {
    await this.run('delete', '--ignore-not-found', '--wait=true', ...targets);
  }

  /** Starts a command that goes on, such as `logs --follow` or `port-forward`. */
  start(...args: string[]): RunningCommand {
    return new RunningCommand(this.program, this.arguments(args), this.env);
  }

  /** Added to the environment of kubectl. */
  get env(): Record<string, string> {
    // Its cache would be below the home directory.
    return { KUBECACHEDIR: join(this.directory, 'kubectl-cache'), KUBERC: 'off' };
  }

  /** Program and arguments of a command, for one that starts it by itself. */
  command(args: readonly string[]): [program: string, args: readonly string[]] {
    return [this.program, this.arguments(args)];
  }

  private arguments(args: readonly string[]): string[] {
    // Named on the command line, a namespace must be that of every object that is applied.
    const namespace = this.namespace === 'default' ? [] : [`--namespace=${this.namespace}`];
    return [`--kubeconfig=${this.kubeconfig}`, ...namespace, ...args];
  }
}
