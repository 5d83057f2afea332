import { inBackground, elapsedBy, untilAborted, type UpdatedPlace } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { openedTo, placeAt, readableFloor, shardAt } from '@looseleaf/protocol'

/** What following the changes of others has done for a cache. */
export interface FollowedStats {
  /** Shards whose changes are being followed now. */
  readonly shards: number
  /** Milliseconds since all changes of these were known, of the shard where it is longest; undefined where none is followed. */
  readonly ageMs: number | undefined
  /** Those of `hits` that would have been read again without it. */
  readonly hits: number
  /** Looks at a shard, of two statements each; some raise its floor in addition. */
  readonly looks: number
}

/** Knows for each shard up to which moment a cache has been told of all changes. Moments are of `elapsedBy`. */
export interface CacheFollower {
  /**
   * Whether what was read at this moment, and not taken away by `changed` since, was the newest at most `maxStalenessMs` ago.
   * To be asked of what is older itself: a shard is followed only while it is asked for.
   */
  vouchesFor(shard: number, asOf: number): boolean
  stats(): FollowedStats
  /** Ends what is under way. */
  close(): Promise<void>
}

interface Followed {
  /** Connections that had been opened before the last look: see `look`. */
  opened: number | undefined
  /** Where changes are read from; undefined to begin with, and after a gap. */
  place: UpdatedPlace | undefined
  /** A floor that was raised after the last look. One look from `place` on has to follow before it is the place. */
  next: UpdatedPlace | undefined
  /** What was read before is not vouched for. */
  since: number
  /** All changes that were committed before are known. */
  knownTo: number
  /** When it was asked for last. */
  askedAt: number
  running: Promise<void> | undefined
}

/** Looks within `maxStalenessMs`, so that one or two may be late. */
const LOOKS = 4
/** Milliseconds between two looks at the least: with less there is more to ask than to save. */
const MIN_PAUSE_MS = 50
/** A shard is followed for so many times `maxStalenessMs` after it was asked for. */
const ASKED_FOR = 4
/** An entity is read again after so many times `maxStalenessMs`: a failover may have lost what it holds without a change to tell of it. */
const READ_AGAIN = 30
/** Changes of one look. Where there are more, what was read before is left to its own age. */
const PAGE = 5_000
/** With so many changes a look, the floor is raised, so that they are not read for ever. */
const MANY = 100
/** Above all times: a look is not bounded by the floor, since what is committed counts at once, wherever the clock was set. */
const NO_END = Number.MAX_SAFE_INTEGER

/** `changed` is told of each entity that was written, perhaps more than once. */
export function createCacheFollower(
  context: EngineContext,
  maxStalenessMs: number,
  changed: (id: Uint8Array, version: number) => void,
): CacheFollower {
  const now = elapsedBy(context.time)
  // Nothing is lost when the process ends meanwhile.
  const quietTime = inBackground(context.time)
  const pauseMs = maxStalenessMs / LOOKS
  const closing = new AbortController()
  const { signal } = closing
  const followed = new Map<number, Followed>()
  let hits = 0
  let looks = 0

  /**
   * Every write that is committed after a raise of the floor is at that floor or above, so one statement that reads from there to
   * the end has all that was committed before it was sent.
   */
  async function look(shard: number, one: Followed): Promise<void> {
    const at = shardAt(context, shard)
    const { entities } = at
    looks++
    const opened = openedTo(at)
    if (one.place === undefined) {
      one.opened = opened
      one.place = placeAt(await entities.raiseFloor({ signal }))
      one.since = now()
    }
    const asOf = now()
    const page = await entities.pageOfChanges({ after: one.place, until: NO_END }, PAGE, {
      maxBody: 0,
      signal,
    })
    // Behind the page: a failover before it that lost the floor would show.
    const { floor, purged } = await entities.floor({ signal })
    // So would a purge that has overtaken this process while it stood still.
    const isGone = purged.updated > one.place.updated
    if (isGone || page.length === PAGE || floor < (one.next ?? one.place).updated) return lose(one)
    // A server that was started anew may have lost what was read, since commits are visible before they are on disk; no change tells.
    if (openedTo(at) !== one.opened) return lose(one)
    for (const { id, version } of page) changed(id, version)
    one.knownTo = asOf
    one.place = one.next ?? one.place
    one.next = undefined
    if (page.length < MANY) return
    const { floor: raised } = await readableFloor(at, one.place, pauseMs, signal)
    if (raised < one.place.updated) lose(one)
    else one.next = placeAt(raised)
  }

  function lose(one: Followed): void {
    one.place = one.next = undefined
    one.since = Infinity
  }

  async function follow(shard: number, one: Followed): Promise<void> {
    for (let pause = pauseMs; !signal.aborted && now() - one.askedAt <= ASKED_FOR * maxStalenessMs;) {
      try {
        await look(shard, one)
        pause = pauseMs
      } catch {
        // Nobody needs to be told: what is kept grows too old meanwhile, and a later look begins at the same place.
        pause = Math.min(2 * pause, ASKED_FOR * maxStalenessMs)
      }
      await untilAborted(quietTime.sleep(pause, signal), signal).catch(() => undefined)
    }
    one.running = undefined
  }

  function ask(shard: number): Followed {
    let one = followed.get(shard)
    if (one === undefined) {
      const nothing = { opened: undefined, place: undefined, next: undefined, running: undefined }
      followed.set(shard, (one = { ...nothing, since: Infinity, knownTo: -Infinity, askedAt: 0 }))
    }
    one.askedAt = now()
    if (!signal.aborted) one.running ??= context.events.detached(() => follow(shard, one))
    return one
  }

  return {
    vouchesFor(shard, asOf) {
      if (pauseMs < MIN_PAUSE_MS) return false
      const { since, knownTo } = ask(shard)
      const isKnown = since <= asOf && now() - Math.max(asOf, knownTo) <= maxStalenessMs
      if (!isKnown || now() - asOf > READ_AGAIN * maxStalenessMs) return false
      hits++
      return true
    },
    stats() {
      const running = [...followed.values()].filter((one) => one.running !== undefined)
      const ages = running.map(({ knownTo }) => now() - knownTo).filter(Number.isFinite)
      return { shards: running.length, ageMs: ages.length === 0 ? undefined : Math.max(...ages), hits, looks }
    },
    async close() {
      closing.abort()
      await Promise.all([...followed.values()].map(({ running }) => running))
    },
  }
}
