import type { Shard } from '@looseleaf/core'
import { elapsedBy, getOrInsert } from '@looseleaf/core/internal'
import { createSharedReading, type EngineContext } from '@looseleaf/index-engine/internal'
import { RELIED_MS } from '../moves/move-work.ts'
import { createCarefulAge } from '../age.ts'

/** Milliseconds after which a read begins another look at its shard. */
export const LOOK_MS = 2_000
/** A look at the row of a server that has its catalog. */
export interface Look {
  readonly epoch: number
  /** Tells whether it is time for another look, by the monotonic clock alone. */
  readonly isDue: () => boolean
  /** Tells whether no answer may rely on the look any more. */
  readonly isOld: () => boolean
}

/** Knows the epoch of one server, a primary or a replica, and since when. All reads of the process share its looks. */
export interface ShardLooks {
  /** The last look; undefined before the first. */
  readonly last: Look | undefined
  /** Asks the server anything that tells its epoch, and counts as a look if `epochOf` finds one. Passes the answer or the error on. */
  by<T>(ask: () => Promise<T>, epochOf: (answer: T) => number | undefined): Promise<T>
  /** Begins a look without waiting, unless one is in flight. */
  begin(): void
  /** Waits for the look in flight, or for one that begins now. */
  soon(): Promise<Look>
  /** Waits for a look that begins after this call. Calls that wait share it. */
  next(): Promise<Look>
}

/** The looks at all servers of a store. */
export interface Looks {
  of(server: Shard): ShardLooks
  /** Waits for the looks in flight. */
  close(): Promise<void>
}

type Parts = Pick<EngineContext, 'time' | 'events'>

const looksOfContexts = new WeakMap<Parts, Looks>()

/** Returns the looks of a store, which all parts of the process share. */
export function looksOf(context: Parts): Looks {
  return getOrInsert(looksOfContexts, context, createLooks)
}

function createLooks(context: Parts): Looks {
  const looks = new Map<Shard, ReturnType<typeof createShardLooks>>()
  return {
    of: (server) => getOrInsert(looks, server, () => createShardLooks(server, context)),
    async close() {
      await Promise.allSettled(Array.from(looks.values(), (each) => each.inFlight))
    },
  }
}

function createShardLooks(
  server: Shard,
  { time, events }: Parts,
): ShardLooks & { readonly inFlight: Promise<Look> | undefined } {
  const elapsed = elapsedBy(time)
  let last: Look | undefined
  let inFlight: Promise<Look> | undefined

  async function by<T>(ask: () => Promise<T>, epochOf: (answer: T) => number | undefined): Promise<T> {
    // Made before the question is sent, so that a look counts as older than it is.
    const dueAt = elapsed() + LOOK_MS
    const isDue = (): boolean => elapsed() >= dueAt
    const isOld = createCarefulAge(time, RELIED_MS)
    const answer = await ask()
    const epoch = epochOf(answer)
    if (epoch !== undefined) last = { epoch, isDue, isOld }
    return answer
  }

  async function look(): Promise<Look> {
    await by(
      () => server.entities.floor(),
      ({ epoch }) => epoch,
    )
    return last as Look
  }

  const next = createSharedReading(() => {
    // Belongs to no call, because calls share it.
    inFlight = events.detached(look).finally(() => (inFlight = undefined))
    return inFlight
  })

  return {
    get last() {
      return last
    },
    get inFlight() {
      return inFlight
    },
    by,
    begin() {
      // A read that needs the look waits for it, and gets the error.
      if (inFlight === undefined) next().catch(() => undefined)
    },
    soon: () => inFlight ?? next(),
    next,
  }
}
