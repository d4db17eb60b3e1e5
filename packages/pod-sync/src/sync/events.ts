import type { CriCallName } from './cri-calls.js';
import type { SyncError } from './sync-result.js';

/** The seven classic steps of SyncPod, and what is done around them. */
export const STEPS = {
  compute: { number: 1, title: 'compute sandbox and container changes' },
  'kill-sandbox': { number: 2, title: 'kill the pod sandbox' },
  'kill-containers': { number: 3, title: 'kill containers that must not run' },
  'create-sandbox': { number: 4, title: 'create the pod sandbox' },
  'start-ephemeral': { number: 5, title: 'start ephemeral containers' },
  'start-init': { number: 6, title: 'start init containers' },
  'start-containers': { number: 7, title: 'start ordinary containers' },
  /** Not a step of SyncPod: dead containers and sandboxes of the pod that are no longer of use are removed. */
  collect: { number: 8, title: 'remove dead containers and sandboxes' },
  stop: { number: 0, title: 'stop the pod' },
  remove: { number: 0, title: 'remove the pod' },
} as const;

export type StepName = keyof typeof STEPS;

/** Something that happened while a pod was synced, in the order in which it happened. */
export type SyncEvent =
  | {
      /** A step begins. */
      readonly type: 'step';
      /** Which run of the seven steps this is, counted from 1. */
      readonly pass: number;
      readonly step: StepName;
      /** What the step will do, in words; "" when there is nothing to do. */
      readonly detail: string;
    }
  | {
      /** A CRI call ended. */
      readonly type: 'call';
      readonly pass: number;
      readonly step: StepName;
      readonly call: CriCallName;
      /** What it was about: a pod, a container's name, an image. */
      readonly target: string;
      readonly durationMs: number;
      /** Absent when the call succeeded. */
      readonly error?: Error;
    }
  | {
      /** The changes that step 1 found; an idle pass does nothing more. */
      readonly type: 'plan';
      readonly pass: number;
      readonly idle: boolean;
    }
  | {
      /** A part of the pass failed; when a call did, its own event came before. */
      readonly type: 'failure';
      readonly pass: number;
      readonly step: StepName;
      readonly error: SyncError;
    }
  | {
      /** A container is not started now. */
      readonly type: 'waiting';
      readonly pass: number;
      readonly container: string;
      /** `CrashLoopBackOff` or `ImagePullBackOff`, as the kubelet names them. */
      readonly reason: string;
      readonly retryInMs: number;
    };

export type SyncEventListener = (event: SyncEvent) => void;

/**
 * Events as an async iterable: pass {@link EventQueue.push} as the listener and iterate beside the sync; `close()` ends the iteration
 * when what was pushed has been read.
 */
export class EventQueue implements AsyncIterable<SyncEvent> {
  private readonly events: SyncEvent[] = [];
  private wake: (() => void) | undefined;
  private closed = false;

  readonly push: SyncEventListener = (event) => {
    this.events.push(event);
    this.wake?.();
  };

  close(): void {
    this.closed = true;
    this.wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<SyncEvent> {
    for (;;) {
      const event = this.events.shift();
      if (event !== undefined) yield event;
      else if (this.closed) return;
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}
