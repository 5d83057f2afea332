import type { CallOptions } from '@looseleaf/core'
import { countIn, countsIn, parseObject, toObject } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'
import { joinedRegistry, readRegistries, type Registry } from './registrations.ts'

/**
 * Number of partitions of a shard, so that as many processes can share its work. Stored data depends on it, so it never changes.
 */
export const PARTITIONS = 8

export const partitionNumbers: readonly number[] = Array.from({ length: PARTITIONS }, (_, n) => n)

/** Returns the name of the task with a consumer's place in a partition, and with the lease of the partition. */
export function partitionTask(consumer: string, partition: number): string {
  return `consume/${consumer}/${partition}`
}

/**
 * Lists of letters that each partition has:
 * - `dead`: changes that are no longer retried.
 * - `moved`: failing changes that another shard has passed on, because their entities moved here.
 */
export type LetterList = 'dead' | 'moved'

export function letterTask(consumer: string, partition: number, list: LetterList): string {
  return `consume/${consumer}/${partition}/${list}`
}

/** Saved progress of a consumer on a shard, over all processes. */
export interface ConsumerProgress {
  /** By partition, in microseconds since 1970: the place, and the floor at which the consumer began. */
  readonly partitions: readonly { readonly updated: number; readonly since: number }[]
  readonly failing: readonly FailingEntity[]
}

/** An entity whose change fails. */
export interface FailingEntity {
  readonly id: string
  /**
   * Place in µs since 1970 behind which the change was passed on to another shard, and is kept here only because a failover may lose it there.
   * 0 if it was not passed on.
   */
  readonly passedBehind: number
}

/** Reads the saved progress of some consumers on a shard. A partition that was never saved is at the beginning of its consumer. */
export async function readProgress(
  context: EngineContext,
  shard: number,
  consumers: Registry,
  options: CallOptions,
): Promise<ReadonlyMap<string, ConsumerProgress>> {
  const { tasks } = shardAt(context, shard)
  const tasksOf = (name: string): string[] => partitionNumbers.map((number) => partitionTask(name, number))
  const names = [...consumers.keys()].flatMap(tasksOf)
  if (names.length === 0) return new Map()
  const states = await tasks.loadAll(names, options)
  return new Map(
    Array.from(consumers, ([name, { incarnation, begun, floors }]) => {
      const records = tasksOf(name).map((task) => {
        const record = parseObject(states.get(task)?.progress ?? '') ?? {}
        return record['incarnation'] === incarnation ? record : undefined
      })
      return [
        name,
        {
          partitions: records.map((record) =>
            record === undefined
              ? { updated: begun[shard] ?? 0, since: floors[shard] ?? 0 }
              : countsIn(record, ['updated', 'since']),
          ),
          failing: records.flatMap((record) => failingIn(record?.['failing'])),
        },
      ]
    }),
  )
}

function failingIn(failing: unknown): FailingEntity[] {
  if (!Array.isArray(failing)) return []
  return failing.flatMap((item) => {
    const { id, passed } = toObject(item) ?? {}
    return typeof id === 'string' ? [{ id, passedBehind: countIn(toObject(passed) ?? {}, 'behind') }] : []
  })
}

/**
 * Returns by name the time up to which each consumer has handled all deletions on a shard, in microseconds since 1970: the saved place of
 * its last partition. Throws if a shard does not answer.
 */
export async function consumerPlaces(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<ReadonlyMap<string, number>> {
  const progress = await progressOfAll(context, shard, options)
  return new Map(Array.from(progress, ([name, each]) => [name, placeIn(each)]))
}

/** Reads the saved progress of all consumers on a shard. Throws if a shard does not answer: it may be the only one that knows a consumer. */
async function progressOfAll(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<ReadonlyMap<string, ConsumerProgress>> {
  const { registries, failure } = await readRegistries(context, options)
  if (failure !== undefined) throw failure
  return readProgress(context, shard, joinedRegistry(registries), options)
}

function placeIn({ partitions }: ConsumerProgress): number {
  return Math.min(...partitions.map(({ updated, since }) => Math.max(updated, since)))
}

export interface ConsumerOnShard {
  readonly name: string
  /** As `consumerPlaces` returns it. */
  readonly place: number
  /** Changes that will be tried again, and dead letters. */
  readonly failing: number
  readonly deadLetters: number
}

/** Reads the records that the consumers have on one shard alone. Throws if a shard does not answer. */
export async function consumersOn(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<readonly ConsumerOnShard[]> {
  const { tasks } = shardAt(context, shard)
  const progress = await progressOfAll(context, shard, options)
  return Promise.all(
    Array.from(progress, async ([name, consumer]) => {
      const countOf = async (list: LetterList): Promise<number> => {
        const states = await tasks.loadAll(
          partitionNumbers.map((number) => letterTask(name, number, list)),
          options,
        )
        const letters = Array.from(states.values(), (state) => parseObject(state.progress)?.['letters'])
        return letters.reduce((sum: number, each) => sum + (Array.isArray(each) ? each.length : 0), 0)
      }
      const [dead, moved] = await Promise.all([countOf('dead'), countOf('moved')])
      return { name, place: placeIn(consumer), failing: consumer.failing.length + moved, deadLetters: dead }
    }),
  )
}
