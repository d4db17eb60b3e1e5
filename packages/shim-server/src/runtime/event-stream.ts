import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import {
  decodeEvent,
  type Containerd,
  type ImageEvent,
  type TaskExitEvent,
  type TaskOomEvent,
} from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { lifetime } from './lifetime.js';
import { Token } from '../tokens.js';

/** What is listened to; containerd's filter language, alternatives. */
const TOPICS = ['/tasks/exit', '/tasks/oom', '/images/create', '/images/update', '/images/delete'];

const FIRST_PAUSE_MS = 100;
/** An exit that a shim could not tell while containerd was away comes soon after its return, and once. */
const LONGEST_PAUSE_MS = 500;

interface EventMap {
  exit: [TaskExitEvent];
  oom: [TaskOomEvent];
  image: [ImageEvent];
  /** The stream begins, again after a loss: events may have been missed, look at the things themselves. */
  resync: [];
  /** The stream begins again: containerd has been away. */
  returned: [];
}

/** containerd's events of this namespace, subscribed to for as long as the daemon lives. */
@scoped(Lifecycle.ContainerScoped)
export class EventStream extends EventEmitter<EventMap> {
  private readonly ended = lifetime();
  private running: Promise<void> | undefined;

  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Logger) private readonly log: Logger,
  ) {
    super();
    this.setMaxListeners(0);
  }

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.ended.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.ended;
    const namespace = this.containerd.namespace;
    const filters = TOPICS.map((topic) => `topic=="${topic}",namespace=="${namespace}"`);
    let lost = false;
    let began = false;
    for (let ms = FIRST_PAUSE_MS; !signal.aborted; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
      try {
        // A subscription is not acknowledged; this tells whether anybody is there to take it.
        await this.containerd.version.get({ signal });
        const events = this.containerd.events.subscribe(filters, { signal });
        this.emit('resync');
        if (began) this.emit('returned');
        began = true;
        lost = false;
        for await (const envelope of events) {
          ms = FIRST_PAUSE_MS;
          this.dispatch(decodeEvent(envelope));
        }
      } catch (error) {
        if (!signal.aborted) this.log[lost ? 'debug' : 'warn']({ err: (error as Error).message }, 'event stream lost; subscribing again');
        lost = true;
      }
      await pause(ms, undefined, { signal }).catch(() => undefined);
    }
  }

  private dispatch(event: ReturnType<typeof decodeEvent>): void {
    switch (event.topic) {
      case '/tasks/exit':
        this.emit('exit', event);
        break;
      case '/tasks/oom':
        this.emit('oom', event);
        break;
      case '/images/create':
      case '/images/update':
      case '/images/delete':
        this.emit('image', event);
        break;
      default:
        break;
    }
  }
}
