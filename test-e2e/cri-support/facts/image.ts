import { component, honoured, ignored, type MessageFacts } from '../facts.js';

const images = component('images');

const PULL = images('PullImage: the id is the digest of the config, everywhere');
const NAMES = images('an image is found by every form of its name, and by the beginning of its id');
const INFO = images('ImageStatus verbose: what crictl inspecti shows');
const PINNED = images('pinned: by the label, whoever set it, and by the annotation of a pull');
const STREAMED = component('stats')('the other Stream calls give what the lists give, in messages of about a megabyte');
const FILE_SYSTEM = images('ImageFsInfo: the snapshotter\'s file system and what is used on it');
const PASSWORD = images('credentials: user name and password');

export const IMAGE = {
  ImageSpec: {
    image: honoured('tag, digest, id or the beginning of an id', NAMES),
    annotations: honoured('of a pull: `io.cri-containerd.pinned=pinned` keeps the image from garbage collection', PINNED),
    user_specified_image: honoured('kept and shown in ContainerStatus', PULL),
    runtime_handler: honoured('of a pull: an unknown one is InvalidArgument', images('a runtime handler that is not configured')),
    image_ref: honoured('filled in the mounts of ContainerStatus: the id of the image that is mounted', component('image-volumes')('an image as a volume: bound read-only into the container, with its id in the status, and gone with the container')),
  },
  ListImagesRequest: { filter: honoured('one image', NAMES) },
  ListImagesResponse: { images: honoured('each image once, with all its names', NAMES) },
  ImageFilter: { image: honoured('by every form of its name', NAMES) },
  Image: {
    id: honoured('the digest of the image\'s config', PULL),
    repo_tags: honoured('every tag it has now', PULL),
    repo_digests: honoured('every repository it came from', PULL),
    size: honoured('bytes of layers and documents, as they were downloaded', PULL),
    uid: honoured('the image\'s User when it is a number', PULL),
    username: honoured('the image\'s User when it is a name', images('the user of an image by name')),
    spec: honoured('the id', images('the user of an image by name')),
    pinned: honoured('by containerd\'s label', PINNED),
  },
  StreamImagesRequest: { filter: honoured('as in ListImages', STREAMED) },
  StreamImagesResponse: { images: honoured('about 1 MiB a message; no message for an empty list', STREAMED) },
  ImageStatusRequest: {
    image: honoured('by every form of its name', NAMES),
    verbose: honoured('adds `info`', INFO),
  },
  ImageStatusResponse: {
    image: honoured('absent for an unknown image', NAMES),
    info: honoured('`info`: JSON with the chain id and the image\'s config', INFO),
  },
  PullImageRequest: {
    image: honoured('completed with docker.io, library and latest', PULL),
    auth: honoured('see AuthConfig', PASSWORD),
    sandbox_config: ignored('nothing about a pull depends on the pod; the handler comes in image.runtime_handler'),
  },
  PullImageResponse: { image_ref: honoured('the image\'s id', PULL) },
  AuthConfig: {
    username: honoured('goes with password', PASSWORD),
    password: honoured('never in a log', PASSWORD),
    auth: honoured('base64 of user:password', images('credentials: base64 auth')),
    server_address: honoured('no other host gets the credentials', images('credentials: the address of another server')),
    identity_token: honoured('an OAuth refresh token', images('credentials: an identity token')),
    registry_token: honoured('a bearer token; refused where a mirror would see it', images('a registry token goes out with the requests, where no mirror could see it')),
  },
  RemoveImageRequest: { image: honoured('by every form of its name', images('I3 one image under three names: RemoveImage by any of them removes all')) },
  ImageFsInfoResponse: {
    image_filesystems: honoured('the snapshotter\'s', FILE_SYSTEM),
    container_filesystems: honoured('the same: layers of images and containers lie together', FILE_SYSTEM),
  },
  FilesystemUsage: {
    timestamp: honoured('when it was measured, at most ten seconds ago', FILE_SYSTEM),
    fs_id: honoured('see FilesystemIdentifier', FILE_SYSTEM),
    used_bytes: honoured('all snapshots together', FILE_SYSTEM),
    inodes_used: honoured('all snapshots together', FILE_SYSTEM),
  },
  FilesystemIdentifier: { mountpoint: honoured('the snapshotter\'s directory', FILE_SYSTEM) },
} satisfies MessageFacts;
