/** One line of `/etc/passwd`, passwd(5). The numbers are kept as written: a bad one matters only when it is used. */
export interface PasswdEntry {
  name: string;
  uid: string;
  gid: string;
}

/** One line of `/etc/group`, group(5). */
export interface GroupEntry {
  name: string;
  gid: string;
  /** As it stands there; see {@link isMember}. */
  members: string;
}

/** Line by line: the file may be as large as an image's author likes, and only one entry is wanted of it. */
export function* passwdEntries(text: string): Generator<PasswdEntry> {
  for (const line of lines(text)) {
    const [name = '', , uid, gid] = fields(line, 4);
    if (uid !== undefined && gid !== undefined) yield { name, uid, gid };
  }
}

/** As {@link passwdEntries}. */
export function* groupEntries(text: string): Generator<GroupEntry> {
  for (const line of lines(text)) {
    const [name = '', , gid, members = ''] = fields(line, 4);
    if (gid !== undefined) yield { name, gid, members };
  }
}

/** Whether a list with commas has a name in it. */
export function isMember(members: string, name: string): boolean {
  if (name === '') return false;
  for (let at = 0; at <= members.length; ) {
    const comma = members.indexOf(',', at);
    const end = comma === -1 ? members.length : comma;
    if (members.slice(at, end).trim() === name) return true;
    at = end + 1;
  }
  return false;
}

function* lines(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(at, end).trim();
    if (line !== '' && !line.startsWith('#')) yield line;
    at = end + 1;
  }
}

/** The first fields of a line, at most `count`; what is behind them is left out. */
function fields(line: string, count: number): string[] {
  const found: string[] = [];
  for (let at = 0; found.length < count && at <= line.length; ) {
    const colon = line.indexOf(':', at);
    const end = colon === -1 ? line.length : colon;
    found.push(line.slice(at, end).trim());
    at = end + 1;
  }
  return found;
}
