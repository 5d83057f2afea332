import type { BodyInspection } from '@looseleaf/store/internal'
import type { Invocation } from '../running/invocation.ts'
import { cachedWhileWell } from './cached-while-well.ts'

/** Decodes a sample of stored bodies. Returns undefined if the store cannot be read. */
export type ReadBodies = (invocation: Invocation) => Promise<BodyInspection | undefined>

/**
 * Caches a sample of bodies for a minute, because decoding is most of the work of a look and the result seldom changes. A
 * sample with a problem or a silent shard is not cached, so a repair shows in the next look.
 */
export function cachedBodies(read: ReadBodies): ReadBodies {
  return cachedWhileWell(
    read,
    (look) => look !== undefined && look.isWhole && look.broken.length === 0 && look.undecodable === 0,
  )
}
