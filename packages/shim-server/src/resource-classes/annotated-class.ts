/** The annotations that name a container's class, as goresctrl and containerd's CRI plugin know them. */
export interface ClassAnnotations {
  /** On the container, in CRI. */
  readonly container: string;
  /** On the pod, for all of its containers. */
  readonly pod: string;
  /** On the pod, for the container whose name follows. */
  readonly podContainerPrefix: string;
}

export interface AnnotatedContainer {
  /** CRI `metadata.name`. */
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly podAnnotations: Readonly<Record<string, string>>;
}

/** The class a container is to be in, the nearest word first; undefined where nobody says one. */
export function annotatedClass(annotations: ClassAnnotations, container: AnnotatedContainer): string | undefined {
  return (
    container.annotations[annotations.container] ??
    container.podAnnotations[annotations.podContainerPrefix + container.name] ??
    container.podAnnotations[annotations.pod]
  );
}
