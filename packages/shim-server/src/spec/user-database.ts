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
  members: string[];
}

export function parsePasswd(text: string): PasswdEntry[] {
  return lines(text).flatMap(([name = '', , uid, gid]) =>
    uid === undefined || gid === undefined ? [] : [{ name, uid, gid }],
  );
}

export function parseGroup(text: string): GroupEntry[] {
  return lines(text).flatMap(([name = '', , gid, members = '']) =>
    gid === undefined
      ? []
      : [
          {
            name,
            gid,
            members: members
              .split(',')
              .map((member) => member.trim())
              .filter(Boolean),
          },
        ],
  );
}

function lines(text: string): string[][] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(':').map((field) => field.trim()));
}
