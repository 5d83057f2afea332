import type { BodiesLook } from '@looseleaf/store'
import type { Session } from '../session.ts'
import { keptWhileWell } from './kept-while-well.ts'

/** Reads what some stored bodies say; undefined where nobody can look. */
export type ReadBodies = (session: Session) => Promise<BodiesLook | undefined>

/**
 * What bodies say changes seldom, and to decode them is most of the work of a look at a store. So a look at them serves for a minute,
 * unless it has found something, or a shard was silent: whoever repairs that sees it go.
 */
export function keptBodies(read: ReadBodies): ReadBodies {
  return keptWhileWell(
    read,
    (look) => look !== undefined && look.isWhole && look.broken.length === 0 && look.undecodable === 0,
  )
}
