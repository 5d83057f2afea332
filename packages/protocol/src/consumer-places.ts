import { countIn, parseObject, toObject, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt } from './shards.ts'

/**
 * Parts of a shard that consumers lease one by one, so that so many processes can share its work. It stands in what is stored: for ever the same.
 */
export const PARTITIONS = 8

/** The numbers of the partitions. */
export const partitionNumbers: readonly number[] = Array.from({ length: PARTITIONS }, (_, n) => n)

/** The task that has the consumers of a store, the same on every shard. */
export const REGISTRY_TASK = 'consumers'

/** The task that says where a consumer stands in a partition, and who works on it. */
export function partitionTask(consumer: string, partition: number): string {
  return `consume/${consumer}/${partition}`
}

/**
 * The time up to which each consumer of a shard has been told of all deletions, in microseconds since 1970, by its name: that of its last
 * partition. A consumer counts as far as others can know: by what it has saved.
 */
export async function consumerPlaces(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<ReadonlyMap<string, number>> {
  const { tasks } = shardAt(context, shard)
  const registry = parseObject((await tasks.load(REGISTRY_TASK, options))?.progress ?? '') ?? {}
  const names = Object.keys(registry)
  const tasksOf = (name: string): string[] => partitionNumbers.map((number) => partitionTask(name, number))
  const states = names.length === 0 ? undefined : await tasks.loadAll(names.flatMap(tasksOf), options)
  return new Map(
    names.map((name) => {
      const registered = toObject(registry[name]) ?? {}
      const of = (list: string): number => countIn(toObject(registered[list]) ?? {}, String(shard))
      const begun = Math.max(of('begun'), of('floors'))
      const places = tasksOf(name).map((task) => {
        const record = parseObject(states?.get(task)?.progress ?? '') ?? {}
        const isOwn = record['incarnation'] === registered['incarnation']
        return isOwn ? Math.max(begun, countIn(record, 'updated')) : begun
      })
      return [name, Math.min(...places)]
    }),
  )
}
