/**
 * Named places in a call where a test can make it fail, wait or die.
 * A place is called `<Call>/<step>`, for example `RunPodSandbox/attach to the pod network`.
 */
export interface Failpoints {
  /** Called before a step begins; what it throws is that step's failure. */
  reach(place: string): Promise<void> | void;
}

/** What production injects: nothing ever happens. */
export const noFailpoints: Failpoints = { reach: () => undefined };
