import { readFile } from 'node:fs/promises';

/** Names of block devices by their numbers, for as long as one call needs them: numbers are given to other devices later. */
export class BlockDeviceNames {
  private readonly names = new Map<string, string>();

  /** @param sys `/sys`. */
  constructor(private readonly sys: string) {}

  /** Finds out the names that {@link of} is then asked for. */
  async load(devices: readonly { readonly major: number; readonly minor: number }[]): Promise<void> {
    const unknown = new Set(devices.map(({ major, minor }) => `${major}:${minor}`).filter((numbers) => !this.names.has(numbers)));
    await Promise.all(
      [...unknown].map(async (numbers) => {
        const uevent = await readFile(`${this.sys}/dev/block/${numbers}/uevent`, 'utf8').catch(() => '');
        const name = /^DEVNAME=(.+)$/m.exec(uevent)?.[1];
        if (name !== undefined) this.names.set(numbers, `/dev/${name}`);
      }),
    );
  }

  /** `/dev/sda`; the numbers themselves for a device without a name. */
  of(major: number, minor: number): string {
    const numbers = `${major}:${minor}`;
    return this.names.get(numbers) ?? numbers;
  }
}
