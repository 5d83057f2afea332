import type { CallOptions } from '@looseleaf/core'
import { presentShards } from '@looseleaf/index-engine/internal'
import type { AnyStore } from '@looseleaf/protocol/internal'
import { partTask } from '../clean/part-lease.ts'

/** Returns the number of workers that now have parts of each of these index tables. */
export async function readWorkers(
  store: AnyStore,
  tables: readonly string[],
  options: CallOptions = {},
): Promise<ReadonlyMap<string, number>> {
  const shards = presentShards(store.context.driver)
  const states = await Promise.all(shards.map(({ tasks }) => tasks.loadAll(tables.map(partTask), options)))
  return new Map(
    tables.map((table) => {
      const owners = states.flatMap((onShard) => onShard.get(partTask(table))?.owner ?? [])
      return [table, new Set(owners).size] as const
    }),
  )
}
