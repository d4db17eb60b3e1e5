/** Container Device Interface: devices that vendors describe in files, and what they change of a container's spec. */
export { CdiDirectories } from './cdi-directories.js';
export { requestedDevices, type RequestedDevice } from './requested-devices.js';
export { prepareEdits, type PreparedEdits } from './prepare-edits.js';
export { applyEdits } from './apply-edits.js';
