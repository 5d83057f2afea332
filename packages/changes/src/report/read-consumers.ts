import { isLooseleafError, optionKinds, type CallOptions, type LooseleafError } from '@looseleaf/core'
import { checkStore, partitionNumbers, PARTITIONS, partitionTask, shardAt } from '@looseleaf/protocol'
import type { ChangesStore } from '../changes-store.ts'
import { readLetters } from '../records/dead-letters.ts'
import { lagOf } from '../records/lag.ts'
import { recordFromText } from '../records/partition-record.ts'
import { consumerNames, readRegistry } from '../records/registry.ts'

/** What all processes have done of a consumer's work. */
export interface ConsumerReport {
  readonly name: string
  /** When it was made known, by the clock of that process; undefined where no shard that answers says so. */
  readonly registeredAt?: Date | undefined
  /** Per shard, in their order. */
  readonly shards: readonly ConsumerShardReport[]
}

export interface ConsumerShardReport {
  readonly name: string
  /** Why the shard did not answer; the rest is 0 then. */
  readonly error: LooseleafError | undefined
  /**
   * Age of the place that was saved last, in milliseconds: no change is older that was not handled and does not fail. A running consumer
   * saves its place every few seconds. `Infinity` at its beginning. Undefined where the place is ahead of the shard's clock, since the
   * clock was ahead before: the age is not known until the clock has caught up.
   */
  readonly lagMs: number | undefined
  /** Of its eighths, those that a process has now; and how many processes these are. */
  readonly partitions: number
  readonly processes: number
  /** Changes that were refused and are tried again. */
  readonly failing: number
  readonly deadLetters: number
}

/** How far the consumers of a store are; a shard that does not answer says so. */
export async function readConsumers(
  store: ChangesStore,
  options: CallOptions = {},
): Promise<readonly ConsumerReport[]> {
  checkStore('readConsumers', store, options, { signal: optionKinds.signal })
  const { names, registeredAt } = await consumerNames(store.context, options)
  return Promise.all(
    names.map(async (name) => ({
      name,
      registeredAt: dateOf(registeredAt.get(name)),
      shards: await Promise.all(
        store.context.driver.shards.map((_, shard) => shardReport(store, name, shard, options)),
      ),
    })),
  )
}

const dateOf = (at: number | undefined): Date | undefined => (at ? new Date(at) : undefined)

async function shardReport(
  { context }: ChangesStore,
  consumer: string,
  shard: number,
  options: CallOptions,
): Promise<ConsumerShardReport> {
  const { name, tasks, entities } = shardAt(context, shard)
  const nothing = {
    name,
    error: undefined,
    lagMs: 0,
    partitions: 0,
    processes: 0,
    failing: 0,
    deadLetters: 0,
  }
  try {
    const [states, registry, letters, { now }] = await Promise.all([
      tasks.loadAll(
        partitionNumbers.map((partition) => partitionTask(consumer, partition)),
        options,
      ),
      readRegistry(context, shard, options),
      readLetters(context, consumer, shard, partitionNumbers, options),
      entities.floor(options),
    ])
    const owners = [...states.values()].flatMap(({ owner }) => owner ?? [])
    const registered = registry.get(consumer)
    // A shard that was restored may not know which are its own.
    const records = [...states.values()]
      .flatMap(({ progress }) => recordFromText(progress) ?? [])
      .filter(({ incarnation }) => registered === undefined || incarnation === registered.incarnation)
    const places = records.map(({ place }) => place.updated)
    // One that nobody has saved yet is where the consumer began.
    if (records.length < PARTITIONS) places.push(registered?.begun[shard] ?? 0)
    const oldest = Math.min(...places)
    const all = [...letters.values()]
    return {
      ...nothing,
      lagMs: lagOf(oldest, now),
      partitions: owners.length,
      processes: new Set(owners).size,
      failing: records.reduce((sum, { failing }) => sum + failing.length, 0),
      deadLetters: all.reduce((sum, { length }) => sum + length, 0),
    }
  } catch (error) {
    if (!isLooseleafError(error) || options.signal?.aborted) throw error
    return { ...nothing, error }
  }
}
