import { isLooseleafError, type CallOptions, type LooseleafError } from '@looseleaf/core'
import { optionKinds } from '@looseleaf/core/internal'
import { presentNumbers } from '@looseleaf/index-engine/internal'
import {
  checkStore,
  joinedRegistry,
  partitionNumbers,
  PARTITIONS,
  partitionTask,
  readRegistries,
  readRegistry,
  shardAt,
  type AnyStore,
} from '@looseleaf/protocol/internal'
import { readLetters, type LettersByPartition } from '../records/dead-letters.ts'
import { lagOf } from '../records/lag.ts'
import { recordFromText } from '../records/partition-record.ts'

/** Progress of a consumer, over all processes. */
export interface ConsumerReport {
  readonly name: string
  /** Time of the registration, by the clock of the process that made it. Undefined if no shard that answers knows it. */
  readonly registeredAt?: Date | undefined
  /** Names of the kinds that the consumer was registered with. Undefined for a consumer of all entities. */
  readonly kinds?: readonly string[] | undefined
  /** One item per shard, in the order of the shards. */
  readonly shards: readonly ConsumerShardReport[]
}

export interface ConsumerShardReport {
  readonly name: string
  /** Error of a shard that did not answer; the numbers are 0 then. */
  readonly error: LooseleafError | undefined
  /**
   * Age of the oldest saved place in milliseconds: every older change was handled, is failing, or is a dead letter. A running consumer saves
   * its places every second while changes arrive, otherwise three times per lease. `Infinity` before the first place of a consumer that
   * starts at the beginning. Undefined while the place is ahead of the shard's clock, which was ahead earlier.
   */
  readonly lagMs: number | undefined
  /** Partitions of the shard that a process has now, 0 to 8. */
  readonly partitions: number
  /** Processes that have these partitions. */
  readonly processes: number
  /** Changes whose handler failed and that will be retried. */
  readonly failing: number
  readonly deadLetters: number
}

/** Reads the progress of all consumers of a store. A shard that does not answer is reported by its `error`. Throws if no shard answers. */
export async function readConsumers(
  store: AnyStore,
  options: CallOptions = {},
): Promise<readonly ConsumerReport[]> {
  checkStore('readConsumers', store, options, { signal: optionKinds.signal })
  const { registries } = await readRegistries(store.context, options)
  const consumers = [...joinedRegistry(registries)].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Promise.all(
    consumers.map(async ([name, { at, kinds }]) => ({
      name,
      registeredAt: at > 0 ? new Date(at) : undefined,
      kinds,
      shards: await Promise.all(
        presentNumbers(store.context.driver).map((shard) => shardReport(store, name, shard, options)),
      ),
    })),
  )
}

async function shardReport(
  { context }: AnyStore,
  consumer: string,
  shard: number,
  options: CallOptions,
): Promise<ConsumerShardReport> {
  const { name, tasks, entities } = shardAt(context, shard)
  const empty = {
    name,
    error: undefined,
    lagMs: 0,
    partitions: 0,
    processes: 0,
    failing: 0,
    deadLetters: 0,
  }
  const taskNames = partitionNumbers.map((partition) => partitionTask(consumer, partition))
  try {
    const [states, registry, { dead, moved }, { now }] = await Promise.all([
      tasks.loadAll(taskNames, options),
      readRegistry(context, shard, options),
      readLetters(context, consumer, shard, partitionNumbers, options),
      entities.floor(options),
    ])
    const owners = [...states.values()].flatMap(({ owner }) => owner ?? [])
    const registered = registry.get(consumer)
    // A restored shard may not know the registration; then all records count.
    const records = [...states.values()]
      .flatMap(({ progress }) => recordFromText(progress) ?? [])
      .filter(({ incarnation }) => registered === undefined || incarnation === registered.incarnation)
    const places = records.map(({ place }) => place.updated)
    // A partition without a record is at the consumer's first place.
    if (records.length < PARTITIONS) places.push(registered?.begun[shard] ?? 0)
    const oldest = Math.min(...places)
    const countOf = (letters: LettersByPartition): number =>
      [...letters.values()].reduce((sum, { length }) => sum + length, 0)
    return {
      ...empty,
      lagMs: lagOf(oldest, now),
      partitions: owners.length,
      processes: new Set(owners).size,
      failing: records.reduce((sum, { failing }) => sum + failing.length, countOf(moved)),
      deadLetters: countOf(dead),
    }
  } catch (error) {
    if (!isLooseleafError(error) || options.signal?.aborted) throw error
    return { ...empty, error }
  }
}
