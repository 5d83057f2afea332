import {
  type Inlined,
  inBackground,
  elapsedBy,
  untilAborted,
  type UpdatedPlace,
} from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { openedTo, placeAt, readableFloor, shardAt } from '@looseleaf/protocol/internal'

/** Numbers of a cache that follows the changes of its shards. */
export type FollowedStats = Inlined<{
  /** Shards whose changes are being followed now. */
  readonly shards: number
  /** Milliseconds since all changes of a shard were known, for the shard with the most; undefined while none is followed. */
  readonly ageMs: number | undefined
  /** Hits that would have been reads without following. */
  readonly hits: number
  /** Looks at a shard, of two statements each. Some looks also raise its floor. */
  readonly looks: number
}>

/** Knows for each shard the moment up to which the cache has received all changes. Moments are of `elapsedBy`. */
export interface CacheFollower {
  /**
   * Returns true if a row read at this moment was current at most `maxStalenessMs` ago, given that no `changed` came for it since.
   * Call it only for rows that are older themselves: a shard is followed only while this is called.
   */
  vouchesFor(shard: number, asOf: number): boolean
  stats(): FollowedStats
  /** Ends the looks in flight. */
  close(): Promise<void>
}

interface Followed {
  /** Connections that had been opened before the last look: see `look`. */
  opened: number | undefined
  /** Place behind which changes are read; undefined at first, and after a gap. */
  place: UpdatedPlace | undefined
  /** A floor that was raised after the last look. It becomes the place after one more look behind `place`. */
  next: UpdatedPlace | undefined
  /** Rows read before this moment are not vouched for. */
  since: number
  /** All changes committed before this moment are known. */
  knownTo: number
  /** Moment of the last `vouchesFor`. */
  askedAt: number
  running: Promise<void> | undefined
}

/** Looks within `maxStalenessMs`, so that one or two may be late. */
const LOOKS = 4
/** Least milliseconds between two looks. Below it, looks would cost more statements than the cache saves. */
const MIN_PAUSE_MS = 50
/** A shard is followed for this many times `maxStalenessMs` after the last `vouchesFor`. */
const ASKED_FOR = 4
/** An entity is read again after this many times `maxStalenessMs`, because a failover may have lost its row without a change. */
const READ_AGAIN = 30
/** Changes per look. If there are more, rows read before are no longer vouched for. */
const PAGE = 5_000
/** From this many changes in a look, the floor is raised, so that the next looks do not read them again. */
const MANY = 100
/** After every time. A look is not bounded by the floor, since a committed change counts at once, whatever the server's clock says. */
const NO_END = Number.MAX_SAFE_INTEGER

/** Makes a follower that calls `changed` for each entity that was written, perhaps more than once. */
export function createCacheFollower(
  context: EngineContext,
  maxStalenessMs: number,
  changed: (id: Uint8Array, version: number) => void,
): CacheFollower {
  const now = elapsedBy(context.time)
  // These sleeps do not keep the process alive.
  const backgroundTime = inBackground(context.time)
  const pauseMs = maxStalenessMs / LOOKS
  const closing = new AbortController()
  const { signal } = closing
  const followedShards = new Map<number, Followed>()
  let hits = 0
  let looks = 0

  /**
   * Reads the changes behind the place. Every write committed after a raise of the floor is at that floor or above it, so one statement
   * that reads from there to the end finds every write committed before it was sent.
   */
  async function look(number: number, followed: Followed): Promise<void> {
    const shard = shardAt(context, number)
    const { entities } = shard
    looks++
    const opened = openedTo(shard)
    if (followed.place === undefined) {
      followed.opened = opened
      followed.place = placeAt(await entities.raiseFloor({ signal }))
      followed.since = now()
    }
    const asOf = now()
    const page = await entities.pageOfChanges({ after: followed.place, until: NO_END }, PAGE, {
      maxBody: 0,
      signal,
    })
    // Read after the page: a failover before the page that lost the floor shows in it.
    const { floor, purged, epoch } = await entities.floor({ signal })
    // So does a purge that went past the place while this process was blocked.
    const isGone = purged.updated > followed.place.updated
    if (isGone || page.length === PAGE || floor < (followed.next ?? followed.place).updated)
      return restart(followed)
    // A restarted server may have lost commits that were visible before they were durable, and no change tells of that.
    if (openedTo(shard) !== followed.opened) return restart(followed)
    for (const { id, version } of page) changed(id, version)
    // Buckets may have gone to another shard, whose writes this look has missed. By the new catalog their rows are not asked for here.
    if (epoch !== context.catalog.latest().epochs[number]) {
      await context.catalog.reload({ signal })
      if (context.catalog.latest().epochs[number] !== epoch) return
    }
    followed.knownTo = asOf
    followed.place = followed.next ?? followed.place
    followed.next = undefined
    if (page.length < MANY) return
    const { floor: raised } = await readableFloor(shard, followed.place, pauseMs, signal)
    if (raised < followed.place.updated) restart(followed)
    else followed.next = placeAt(raised)
  }

  /** Vouches for no row read so far, and makes the next look begin at a new floor. */
  function restart(followed: Followed): void {
    followed.place = followed.next = undefined
    followed.since = Infinity
  }

  async function follow(shard: number, followed: Followed): Promise<void> {
    for (let pause = pauseMs; !signal.aborted && now() - followed.askedAt <= ASKED_FOR * maxStalenessMs;) {
      try {
        await look(shard, followed)
        pause = pauseMs
      } catch {
        // Needs no warning: kept rows become too old until a later look succeeds from the same place.
        pause = Math.min(2 * pause, ASKED_FOR * maxStalenessMs)
      }
      await untilAborted(backgroundTime.sleep(pause, signal), signal).catch(() => undefined)
    }
    followed.running = undefined
  }

  function ask(shard: number): Followed {
    let state = followedShards.get(shard)
    if (state === undefined) {
      const unread = { opened: undefined, place: undefined, next: undefined, running: undefined }
      followedShards.set(shard, (state = { ...unread, since: Infinity, knownTo: -Infinity, askedAt: 0 }))
    }
    state.askedAt = now()
    if (!signal.aborted) state.running ??= context.events.detached(() => follow(shard, state))
    return state
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
      const running = [...followedShards.values()].filter((state) => state.running !== undefined)
      const ages = running.map(({ knownTo }) => now() - knownTo).filter(Number.isFinite)
      return { shards: running.length, ageMs: ages.length === 0 ? undefined : Math.max(...ages), hits, looks }
    },
    async close() {
      closing.abort()
      await Promise.all([...followedShards.values()].map(({ running }) => running))
    },
  }
}
