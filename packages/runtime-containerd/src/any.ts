/** A typed message inside another (`google.protobuf.Any`); containerd's type URLs are bare names without a host part. */
export interface Any {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}
