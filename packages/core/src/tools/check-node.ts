import { badOption } from '../errors/errors.ts'

/** Oldest supported Node, the same as `engines` in every package.json. */
const OLDEST = { major: 22, minor: 18 }

/**
 * Throws `BAD_OPTION` on a Node that is too old. Without this check a store fails with a `TypeError` about a missing
 * function, and better-sqlite3 ends the process without a message.
 */
export function checkNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return
  throw badOption(`Looseleaf needs Node 22.18 or later; this is Node ${version}.`)
}
