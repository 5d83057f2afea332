import { isLooseleafError } from '@looseleaf/core'
import type { UpdatedPlace } from '@looseleaf/core/internal'
import type { MovedRows } from '@looseleaf/protocol/internal'
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
}

export function createWaitingRows(moved: MovedRows, onError: (error: unknown) => void): WaitingRows {
  const waiting = new Map<HeldPartition, Row>()

  /** A row also waits while a shard that has to be asked does not answer. */
  async function turnOf(row: Row): ReturnType<MovedRows['turnOf']> {
    try {
      return await moved.turnOf(row)
    } catch (error) {
      if (!isLooseleafError(error) || !error.retryable) throw error
      onError(error)
      return 'hold'
    }
  }

  return {
    async open(partitions) {
      for (const partition of waiting.keys()) if (!partition.isHeld) waiting.delete(partition)
      const open: HeldPartition[] = []
      for (const partition of partitions) {
        const row = waiting.get(partition)
        if (row !== undefined && (await turnOf(row)) === 'hold') continue
        waiting.delete(partition)
        open.push(partition)
      }
      return open
    },
    async choose(rows, partitionOf) {
      const chosen: (typeof rows)[number][] = []
      for (const row of rows) {
        const partition = partitionOf(row)
        if (waiting.has(partition)) continue
        const turn = await turnOf(row)
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
  }
}
