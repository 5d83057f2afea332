import { createLane, elapsedBy, formatId, type EntityRow, isError } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import type { LimitFunction } from 'p-limit'
import { addLetters } from '../records/dead-letters.ts'
import type { Failing } from '../records/partition-record.ts'
import { changedEntity, type ChangedEntity } from './changed-entity.ts'
import type { SettledOptions } from './consume-options.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'
import type { RetryPlaces } from './retry-places.ts'

/** What is done with a change. Throws, or rejects, where it is to be tried again. */
export type Handler = (
  change: ChangedEntity,
  context: {
    /** Fires when the consumer is stopped: what is thrown after that is no failure, and the change comes again. */
    readonly signal: AbortSignal
  },
) => unknown

/** Hands rows to the handler, and keeps account of those that it refuses. */
export interface RowHandler {
  /**
   * False where the row has to come again: it could not begin until `beginBy` (of `elapsedBy`), the consumer is stopped, or the
   * partition lost or full of failing changes.
   */
  handle(partition: HeldPartition, row: EntityRow, beginBy: number, kind: 'new' | 'retry'): Promise<boolean>
  /** Failing changes that have waited long enough, those first that have waited longest. */
  due(partition: HeldPartition): readonly Failing[]
  readonly counts: HandledCounts
}

/** Since the consumer was started, of one shard. */
export interface HandledCounts {
  readonly handled: number
  /** Refusals, with those of later attempts. */
  readonly failed: number
  /** Changes that became dead letters. */
  readonly givenUp: number
}

/** Failing changes of a partition. With so many, nothing more is read of it until some are handled. */
export const MAX_FAILING = 100
/** Changes that become letters at once, of all partitions: as many as may fail. */
const MAX_WAITING = 10_000
const MAX_PAUSE_MS = 300_000
const MAX_ERROR = 500

export function createRowHandler(
  context: EngineContext,
  shard: number,
  consumer: string,
  handler: Handler,
  options: Pick<SettledOptions, 'retryMs' | 'maxAttempts'> & {
    readonly leases: PartitionLeases
    readonly limit: LimitFunction
    /** Retries take a place of `limit` too. */
    readonly retryPlaces: RetryPlaces
    readonly signal: AbortSignal
    readonly tell: (error: unknown, change?: ChangedEntity) => void
  },
): RowHandler {
  const { leases, limit, retryPlaces, signal, tell, retryMs, maxAttempts } = options
  const elapsed = elapsedBy(context.time)
  const dueAt = new WeakMap<Failing, number>()
  const counts = { handled: 0, failed: 0, givenUp: 0 }

  function pauseAfter({ attempts }: Failing): number {
    return attempts === 0 ? 0 : Math.min(retryMs * 2 ** (attempts - 1), MAX_PAUSE_MS)
  }

  /** Of one that another process has left, from now on. */
  function dueTime(failing: Failing): number {
    const known = dueAt.get(failing)
    if (known !== undefined) return known
    const time = elapsed() + pauseAfter(failing)
    dueAt.set(failing, time)
    return time
  }

  /** Whether this process may go on with the partition. */
  async function isOurs(partition: HeldPartition): Promise<boolean> {
    return (await leases.confirm({ signal })) && partition.isHeld && !signal.aborted
  }

  /** Those of a partition together: each of their lists is read and written as a whole. */
  const letters = createLane<{ readonly partition: number; readonly failing: Failing }, boolean>({
    name: `dead letters of ${consumer}`,
    maxBatch: MAX_FAILING,
    maxQueue: MAX_WAITING,
    groupOf: ({ partition }) => partition,
    run: (items) =>
      addLetters(
        context,
        consumer,
        { shard, partition: items[0]!.partition },
        items.map(({ failing }) => failing),
        { signal },
      ),
  })

  /** A change that has failed for the last time. Not in the place of a handler: its shard may not answer. */
  async function giveUp(partition: HeldPartition, failing: Failing): Promise<void> {
    try {
      if (!(await letters.submit({ partition: partition.number, failing }))) return
    } catch (error) {
      if (!signal.aborted) tell(error)
      return
    }
    counts.givenUp++
    if (partition.failing.get(failing.id) === failing) partition.failing.delete(failing.id)
  }

  async function handle(partition: HeldPartition, row: EntityRow): Promise<boolean> {
    const id = formatId(row.id)
    const known = partition.failing.get(id)
    if (known === undefined && partition.failing.size >= MAX_FAILING) return false
    const attempt = known?.version === row.version ? known.attempts + 1 : 1
    let change: ChangedEntity | undefined
    try {
      change = changedEntity(context, row, shardAt(context, shard).name, attempt)
      await handler(change, { signal })
    } catch (error) {
      if (signal.aborted || !partition.isHeld) return false
      tell(error, change)
      counts.failed++
      const { version } = row
      const failing = { id, version, attempts: attempt, error: textOf(error), failedAt: context.time.now() }
      partition.failing.set(id, failing)
      dueTime(failing)
      return true
    }
    partition.failing.delete(id)
    counts.handled++
    return true
  }

  return {
    async handle(partition, row, beginBy, kind) {
      for (;;) {
        // Not in the line of the handlers: whoever waits for a shard that does not answer would keep those of other shards out.
        if (!(await isOurs(partition))) return false
        const isLate = (): boolean => elapsed() > beginBy
        const begin = (): Promise<boolean> | false | undefined => {
          if (signal.aborted || !partition.isHeld) return false
          return leases.isSure ? handle(partition, row) : undefined
        }
        const outcome = await (kind === 'new'
          ? limit(() => (isLate() ? false : begin()))
          : retryPlaces.take(isLate, () => limit(begin)))
        if (outcome === undefined) continue
        const failing = partition.failing.get(formatId(row.id))
        if (failing !== undefined && failing.attempts >= maxAttempts) await giveUp(partition, failing)
        return outcome
      }
    },
    due: (partition) => {
      const now = elapsed()
      return [...partition.failing.values()]
        .filter((failing) => dueTime(failing) <= now)
        .toSorted((a, b) => dueTime(a) - dueTime(b))
    },
    counts,
  }
}

/** Whatever was thrown: a message may be no text, and an object have none. */
function textOf(error: unknown): string {
  try {
    const text = String(isError(error) ? error.message : error)
    return text.slice(0, MAX_ERROR)
  } catch {
    return 'What the handler threw has no text.'
  }
}
