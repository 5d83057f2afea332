import type { CallOptions } from '@looseleaf/core'
import { countIn, parseObject, toObject } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from './shards.ts'

/**
 * Number of partitions of a shard, so that as many processes can share its work. Stored data depends on it, so it never changes.
 */
export const PARTITIONS = 8

/** Numbers of the partitions, from 0. */
export const partitionNumbers: readonly number[] = Array.from({ length: PARTITIONS }, (_, n) => n)

/** Name of the task with the consumers of a store, which is the same on every shard. */
export const REGISTRY_TASK = 'consumers'

/** Returns the name of the task with a consumer's place in a partition, and with the lease of the partition. */
export function partitionTask(consumer: string, partition: number): string {
  return `consume/${consumer}/${partition}`
}

/**
 * Returns by name the time up to which each consumer has handled all deletions on a shard, in microseconds since 1970: the saved place of
 * its last partition.
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
      const timeIn = (list: string): number => countIn(toObject(registered[list]) ?? {}, String(shard))
      const begun = Math.max(timeIn('begun'), timeIn('floors'))
      const places = tasksOf(name).map((task) => {
        const record = parseObject(states?.get(task)?.progress ?? '') ?? {}
        const isCurrent = record['incarnation'] === registered['incarnation']
        return isCurrent ? Math.max(begun, countIn(record, 'updated')) : begun
      })
      return [name, Math.min(...places)]
    }),
  )
}
