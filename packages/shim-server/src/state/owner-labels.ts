/** On a snapshot or lease that belongs to a sandbox or container: its id. What has it was made by criquet. */
export const OWNER_LABEL = 'criquet.owner';

/** On a lease that lasts as long as one piece of work: the instance of the daemon that does it. */
export const DAEMON_LABEL = 'criquet.daemon';

/** On a record that is there only so that containerd lets go of a task whose own record is gone. */
export const LEFTOVER_LABEL = 'criquet.leftover';

export function ownedBy(id: string): Record<string, string> {
  return { [OWNER_LABEL]: id };
}

export function ownedByDaemon(instance: string): Record<string, string> {
  return { [DAEMON_LABEL]: instance };
}
