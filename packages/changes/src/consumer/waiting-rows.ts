import type { Time } from '@looseleaf/core'
import { elapsedBy, type UpdatedPlace } from '@looseleaf/core/internal'
import { isPending } from '@looseleaf/index-engine/internal'
import type { MovedRows, Turn } from '@looseleaf/protocol/internal'
import type { Failing } from '../records/partition-record.ts'
import type { HeldPartition } from './partition-leases.ts'

type Row = UpdatedPlace & { readonly id: Uint8Array }

/** Rows of entities that have moved, and that have to wait for their changes on other shards. One such row stops its partition. */
export interface WaitingRows {
  /** Returns the partitions whose next row need not wait. */
  open(partitions: readonly HeldPartition[]): Promise<readonly HeldPartition[]>
  /**
   * Chooses the rows of a page that are the next changes of their partitions. Leaves copies out, because their states come from the shard
   * that they were copied from, and the rows of a partition from the first one on that has to wait.
   */
  choose<PageRow extends Row>(
    rows: readonly PageRow[],
    partitionOf: (row: PageRow) => HeldPartition,
  ): Promise<readonly PageRow[]>
  /** Returns the place behind everything that comes before the waiting row of a partition; undefined if none waits. */
  placeBefore(partition: HeldPartition): UpdatedPlace | undefined
  /**
   * Tells whether a failing change may be retried. The current row of its entity may be a later state than those that other shards still have
   * to hand over: the change of a replayed letter may have failed before the entity left this shard and came back.
   */
  mayRetry(change: Failing): boolean
}

/**
 * Milliseconds that the other partitions wait for the answer of another shard. A row that waits longer is looked at again when the shard has
 * answered.
 */
const ASK_MS = 100

export function createWaitingRows(
  time: Time,
  moved: Pick<MovedRows, 'turnOf' | 'isNext'>,
  onError: (error: unknown) => void,
): WaitingRows {
  const elapsed = elapsedBy(time)
  const waiting = new Map<HeldPartition, Row>()
  /** Partitions of which another shard was asked, and has not answered yet. */
  const asking = new WeakSet<HeldPartition>()
  /** Ids of failing changes for which another shard was asked, and has not answered yet. */
  const askingFor = new Set<string>()

  /** A row also waits while a shard that has to be asked does not answer, or cannot. Its fault must not stop the other partitions. */
  function holdUnanswered(error: unknown): 'hold' {
    onError(error)
    return 'hold'
  }

  async function turnOf(partition: HeldPartition, row: Row, askBy: number): Promise<Turn> {
    const turn = moved.turnOf(row)
    if (!isPending(turn)) return turn
    asking.add(partition)
    const answer = turn.catch(holdUnanswered).finally(() => asking.delete(partition))
    const answered = new AbortController()
    const late = time.sleep(Math.max(0, askBy - elapsed()), answered.signal).then(() => 'hold' as const)
    return Promise.race([answer, late]).finally(() => answered.abort())
  }

  return {
    async open(partitions) {
      for (const partition of waiting.keys()) if (!partition.isHeld) waiting.delete(partition)
      const askBy = elapsed() + ASK_MS
      const open: HeldPartition[] = []
      for (const partition of partitions) {
        const row = waiting.get(partition)
        if (row !== undefined && (asking.has(partition) || (await turnOf(partition, row, askBy)) === 'hold'))
          continue
        waiting.delete(partition)
        open.push(partition)
      }
      return open
    },
    async choose(rows, partitionOf) {
      const askBy = elapsed() + ASK_MS
      const chosen: (typeof rows)[number][] = []
      for (const row of rows) {
        const partition = partitionOf(row)
        if (waiting.has(partition)) continue
        const turn = await turnOf(partition, row, askBy)
        if (turn === 'give') chosen.push(row)
        else if (turn === 'hold') waiting.set(partition, row)
      }
      return chosen
    },
    placeBefore(partition) {
      const row = waiting.get(partition)
      // The place of a stream has to be past all of its changes, so that other shards need not wait for it in turn.
      return row && { updated: row.updated, addedId: row.addedId - 1 }
    },
    mayRetry({ id }) {
      if (askingFor.has(id)) return false
      const isNext = moved.isNext(id)
      if (!isPending(isNext)) return isNext
      askingFor.add(id)
      const forget = (): void => void askingFor.delete(id)
      // The next round looks again. The rounds of the other shard report that it does not answer.
      isNext.then(forget, forget)
      return false
    },
  }
}
