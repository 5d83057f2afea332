import { platformTime } from '@looseleaf/core'
import type { BodiesLook } from '@looseleaf/store'
import type { Session } from '../session.ts'

/** Reads what some stored bodies say; undefined where nobody can look. */
export type ReadBodies = (session: Session) => Promise<BodiesLook | undefined>

/** In milliseconds: as often as a pager asks. */
const SERVES_MS = 60_000

/**
 * What bodies say changes seldom, and to decode them is most of the work of a look at a store. So a look at them serves for a minute,
 * unless it has found something, or a shard was silent: whoever repairs that sees it go.
 */
export function keptBodies(read: ReadBodies): ReadBodies {
  let kept: BodiesLook | undefined
  let keptUntil = 0
  return async (session) => {
    if (kept !== undefined && platformTime.elapsed() < keptUntil) return kept
    const look = await read(session)
    const isWell = look !== undefined && look.isWhole && look.broken.length === 0 && look.undecodable === 0
    kept = isWell ? look : undefined
    keptUntil = platformTime.elapsed() + SERVES_MS
    return look
  }
}
