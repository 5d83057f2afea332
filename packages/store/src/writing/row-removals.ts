import { elapsedBy, inBackground, isUndone, type Shard } from '@looseleaf/core'
import { keptRowsMs, type EngineContext } from '@looseleaf/index-engine'
import type { PlacedKey } from '@looseleaf/protocol'
import { backOffMs } from './back-off.ts'
import { createBackground } from './background.ts'
import type { IndexRowWriter } from './index-row-writer.ts'

/**
 * Law 3 of a writer: deletes the rows that a committed version has lost, those with a lower stamp than its own. Nobody
 * waits for that, and what is not done is left to the cleaner.
 */
export interface RowRemovals {
  now(rows: readonly PlacedKey[], entityId: Uint8Array, version: number): void
  /** When no query that began before this call can still meet the entity by these rows alone. */
  later(rows: readonly PlacedKey[], commit: CommittedVersion): void
  stats(): RemovalStats
  /** True while so many deletes are under way that writes have to wait. */
  readonly isFull: boolean
  /** Resolves when it is not full any more. */
  room(): Promise<void>
  /** Resolves when everything that was added so far is deleted, or cannot be. */
  settled(): Promise<void>
  /** Leaves what is not due yet to the cleaner, and waits for what is under way. */
  close(): Promise<void>
}

export interface RemovalStats {
  /** Rows that wait until no query can need them. */
  readonly kept: number
  /** Deletes that are being sent, each of the rows of an entity. */
  readonly underWay: number
}

export interface CommittedVersion {
  readonly entityId: Uint8Array
  readonly version: number
  /** The entity's. */
  readonly shard: number
  /** Of that shard, as the commit found it. */
  readonly epoch: number
}

interface KeptRows extends CommittedVersion {
  readonly rows: readonly PlacedKey[]
  /** By the clock of `elapsedBy`. */
  readonly due: number
}

/** Deletes under way; beyond this, writes wait for them. */
const MAX_UNDER_WAY = 5_000

/** Rows that are kept for their time to come; beyond this they are left to the cleaner. Some 300 bytes each. */
const MAX_KEPT = 100_000

/** Of deletes that fail, one is told in so many milliseconds: a shard that is down fails those of every entity. */
const TOLD_AGAIN_MS = 60_000

/** Rows that fall due within so many milliseconds go together. */
const GATHER_MS = 25

/** Deletes that the database has undone are sent again so many times: closing waits for them, and each may have waited for locks. */
const MAX_UNDONE = 4

export function createRowRemovals(
  context: EngineContext,
  indexRows: Pick<IndexRowWriter, 'remove'>,
  onWarning: (message: string) => void,
): RowRemovals {
  const { time } = context
  const elapsed = elapsedBy(time)
  // Nothing is lost when the process ends before they are due.
  const quietTime = inBackground(time)
  const closing = new AbortController()
  let silentUntil = 0
  const background = createBackground(MAX_UNDER_WAY, (error) => {
    if (elapsed() < silentUntil) return
    silentUntil = elapsed() + TOLD_AGAIN_MS
    onWarning(`Index rows that are no longer needed are left to the cleaner: ${String(error)}`)
  })
  /** In the order in which they fall due. */
  let kept: KeptRows[] = []
  let keptRows = 0
  /** From when rows had to be left to the cleaner until half of those that are kept have gone. */
  let isOverflowing = false
  let running = false

  async function remove(rows: readonly PlacedKey[], entityId: Uint8Array, version: number): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await indexRows.remove(rows, entityId, version)
      } catch (error) {
        if (!isUndone(error) || tries >= MAX_UNDONE) throw error
      }
      await time.sleep(context.random.next() * backOffMs(tries))
    }
  }

  /**
   * A failover may have undone the commit, and a clean after it, which raises the epoch, has found the rows in their place.
   * Rows that stay because the catalog has changed for another reason are left to the cleaner, too.
   */
  async function removeKept(
    { rows, entityId, version, epoch }: KeptRows,
    now: Promise<number | undefined>,
  ): Promise<void> {
    if ((await now) === epoch) await remove(rows, entityId, version)
  }

  async function epochOf(shard: number): Promise<number | undefined> {
    const { catalog } = context.driver.shards[shard] as Shard
    return (await catalog.load())?.epoch
  }

  /** Not all at once, which may be many when the process was held up. */
  function removeUntil(due: number): void {
    let count = 0
    let sent = 0
    for (const each of kept) {
      if (each.due > due || sent >= MAX_UNDER_WAY) break
      sent += each.rows.length
      count++
    }
    const ripe = kept.slice(0, count)
    kept = kept.slice(count)
    keptRows -= sent
    if (keptRows <= MAX_KEPT / 2) isOverflowing = false
    for (const [shard, removals] of Map.groupBy(ripe, (each) => each.shard)) {
      const epoch = epochOf(shard)
      for (const each of removals) background.add(removeKept(each, epoch))
    }
  }

  async function run(): Promise<void> {
    running = true
    try {
      for (let first = kept[0]; first !== undefined; first = kept[0]) {
        await quietTime.sleep(Math.max(0, first.due - elapsed()) + GATHER_MS, closing.signal)
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
      // It ends by itself, or with the store.
      if (!running) context.events.detached(() => run().catch(() => {}))
    },
    stats: () => ({ kept: keptRows, underWay: background.underWay }),
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
