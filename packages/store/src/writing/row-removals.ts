import type { Shard } from '@looseleaf/core'
import { type Inlined, elapsedBy, inBackground, isUndone } from '@looseleaf/core/internal'
import { keptRowsMs, type EngineContext } from '@looseleaf/index-engine/internal'
import type { PlacedKey } from '@looseleaf/protocol/internal'
import { pauseAfter } from './back-off.ts'
import { createBackground } from './background.ts'
import type { IndexRowWriter } from './index-row-writer.ts'

/**
 * Deletes the rows that a committed version has lost and whose stamp is lower (law 3). Writes do not wait for it. The cleaner deletes
 * the rows that remain.
 */
export interface RowRemovals {
  now(rows: readonly PlacedKey[], entityId: Uint8Array, version: number): void
  /** Deletes the rows once no query that began before this call can still need them to find the entity. */
  later(rows: readonly PlacedKey[], commit: CommittedVersion): void
  stats(): RemovalStats
  /** True while so many deletes are in flight that writes have to wait. */
  readonly isFull: boolean
  /** Resolves when `isFull` is false. */
  room(): Promise<void>
  /** Resolves when all rows added so far are deleted, or their delete has failed. */
  settled(): Promise<void>
  /** Leaves rows that are not due yet to the cleaner, and waits for the deletes in flight. */
  close(): Promise<void>
}

export type RemovalStats = Inlined<{
  /** Rows that are kept until no query can need them. */
  readonly kept: number
  /** Deletes in flight; each is for the rows of one entity. */
  readonly inFlight: number
}>

export interface CommittedVersion {
  readonly entityId: Uint8Array
  readonly version: number
  /** Number of the entity's shard. */
  readonly shard: number
  /** Epoch of that shard, carried by the commit. */
  readonly epoch: number
}

interface KeptRows extends CommittedVersion {
  readonly rows: readonly PlacedKey[]
  /** Milliseconds on the clock of `elapsedBy`. */
  readonly due: number
}

/** Deletes in flight. Writes wait while there are more. */
const MAX_UNDER_WAY = 5_000

/** Rows kept in memory, about 300 bytes each. The cleaner deletes those beyond. */
const MAX_KEPT = 100_000

/** Milliseconds between two warnings of failed deletes. A shard that is down fails the deletes of every entity. */
const WARNING_INTERVAL_MS = 60_000

/** Rows that fall due within this many milliseconds are deleted together. */
const GATHER_MS = 25

/** Retries of a delete that the database has undone. Kept low, because `close` waits for them and each may wait for locks. */
const MAX_UNDONE = 4

export function createRowRemovals(
  context: EngineContext,
  indexRows: Pick<IndexRowWriter, 'remove'>,
  onWarning: (message: string) => void,
): RowRemovals {
  const { time } = context
  const elapsed = elapsedBy(time)
  // A process may end before rows are due, because the cleaner deletes them.
  const backgroundTime = inBackground(time)
  const closing = new AbortController()
  let nextWarningAt = 0
  const background = createBackground(MAX_UNDER_WAY, (error) => {
    if (elapsed() < nextWarningAt) return
    nextWarningAt = elapsed() + WARNING_INTERVAL_MS
    onWarning(`Index rows that are no longer needed are left to the cleaner: ${String(error)}`)
  })
  /** In the order of `due`. */
  let kept: KeptRows[] = []
  let keptRows = 0
  /** True from the first row beyond `MAX_KEPT` until at most half of `MAX_KEPT` are kept. */
  let isOverflowing = false
  let running = false

  async function remove(rows: readonly PlacedKey[], entityId: Uint8Array, version: number): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await indexRows.remove(rows, entityId, version)
      } catch (error) {
        if (!isUndone(error) || tries >= MAX_UNDONE) throw error
      }
      await time.sleep(pauseAfter(tries, context.random))
    }
  }

  /**
   * Deletes kept rows if the epoch is still the one of their commit.
   * 1. A failover undoes the commit, so the entity has the key of the kept row again.
   * 2. A cleaner raises the epoch, then finds the row in its place and relies on it.
   * 3. Without this check the row would be deleted, and missing.
   * A change of the catalog for another reason leaves the rows to the cleaner too.
   */
  async function removeKept(
    { rows, entityId, version, epoch }: KeptRows,
    currentEpoch: Promise<number | undefined>,
  ): Promise<void> {
    if ((await currentEpoch) === epoch) await remove(rows, entityId, version)
  }

  async function epochOf(shard: number): Promise<number | undefined> {
    const { catalog } = context.driver.shards[shard] as Shard
    return (await catalog.load())?.epoch
  }

  /** Deletes rows that are due, at most about `MAX_UNDER_WAY` at once: very many are due after the process was blocked. */
  function removeUntil(due: number): void {
    let count = 0
    let dueRows = 0
    for (const each of kept) {
      if (each.due > due || dueRows >= MAX_UNDER_WAY) break
      dueRows += each.rows.length
      count++
    }
    const removable = kept.slice(0, count)
    kept = kept.slice(count)
    keptRows -= dueRows
    if (keptRows <= MAX_KEPT / 2) isOverflowing = false
    for (const [shard, removals] of Map.groupBy(removable, (each) => each.shard)) {
      const epoch = epochOf(shard)
      for (const each of removals) background.add(removeKept(each, epoch))
    }
  }

  async function run(): Promise<void> {
    running = true
    try {
      for (let first = kept[0]; first !== undefined; first = kept[0]) {
        await backgroundTime.sleep(Math.max(0, first.due - elapsed()) + GATHER_MS, closing.signal)
        removeUntil(Math.max(first.due, elapsed()))
        if (background.isFull) await background.room()
      }
    } finally {
      running = false
    }
  }

  return {
    now(rows, entityId, version) {
      if (rows.length > 0) background.add(remove(rows, entityId, version))
    },
    later(rows, commit) {
      if (rows.length === 0) return
      if (keptRows + rows.length > MAX_KEPT) {
        if (!isOverflowing) {
          isOverflowing = true
          onWarning(
            `More than ${MAX_KEPT} index rows of entities that have moved wait to be deleted; further ones are left to the cleaner.`,
          )
        }
        return
      }
      keptRows += rows.length
      kept.push({ rows, ...commit, due: elapsed() + keptRowsMs(context.catalog.current()) })
      // `run` ends when no rows are kept, or when the store closes.
      if (!running) context.events.detached(() => run().catch(() => {}))
    },
    stats: () => ({ kept: keptRows, inFlight: background.inFlight }),
    get isFull() {
      return background.isFull
    },
    room: () => background.room(),
    async settled() {
      const last = kept.at(-1)
      while (last !== undefined && kept.includes(last)) await time.sleep(Math.max(1, last.due - elapsed()))
      await background.settled()
    },
    async close() {
      closing.abort()
      kept = []
      keptRows = 0
      await background.settled()
    },
  }
}
