// The types are in ../index.d.ts: packages that are built must not pull these sources into their own build.
export { findServer, howToInstall } from './find-server.ts'
export { freePort } from './free-port.ts'
export { isAlive } from './is-alive.ts'
export { startServers } from './start-servers.ts'
