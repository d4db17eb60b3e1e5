/** A volume that cannot be set up; the message names the volume and what is wrong with it. */
export class VolumeError extends Error {
  override readonly name = 'VolumeError';

  constructor(
    readonly volume: string,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`volume ${JSON.stringify(volume)}: ${reason}`, options);
  }
}
