/**
 * Replaces `$(NAME)` by the variable's value as Kubernetes does in command, args, env and subPathExpr: an unknown name stays as it
 * stands, `$$` is a literal `$`.
 */
export function expand(text: string, variables: ReadonlyMap<string, string>, onUnknown?: (name: string) => void): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (match, name: string | undefined) => {
    if (name === undefined) return '$';
    const value = variables.get(name);
    if (value === undefined) onUnknown?.(name);
    return value ?? match;
  });
}
