import { isId, LooseleafError, type CallOptions, type EntityId } from '@looseleaf/core'
import { badArgument, lowerId, optionKinds } from '@looseleaf/core/internal'
import { presentNumbers } from '@looseleaf/index-engine/internal'
import {
  checkStore,
  joinedRegistry,
  letterTask,
  partitionNumbers,
  partitionTask,
  readRegistries,
  shardAt,
  type AnyStore,
} from '@looseleaf/protocol/internal'
import { editLetters, readLetters, type StoredLetter } from '../records/dead-letters.ts'
import { checkConsumerName, waitingTask } from '../records/names.ts'
import { unregister } from '../records/registry.ts'

/** A change that failed `maxAttempts` times and is no longer retried. */
export interface DeadLetter {
  readonly id: EntityId
  readonly version: number
  readonly attempts: number
  /** Message of the last error, cut to 500 characters. */
  readonly error: string
  readonly failedAt: Date
  /** True from `replayDeadLetters` until the consumer takes the change up. */
  readonly isReplayed: boolean
}

const DROP_LEASE_MS = 30_000
const callKinds = { signal: optionKinds.signal }

/** Returns the dead letters of a consumer, oldest failure first. Throws `NOT_FOUND` if the store has no such consumer. */
export async function readDeadLetters(
  store: AnyStore,
  consumer: string,
  options: CallOptions = {},
): Promise<readonly DeadLetter[]> {
  await checkKnown('readDeadLetters', store, consumer, options)
  const { context } = store
  const byShard = await Promise.all(
    presentNumbers(context.driver).map((shard) =>
      readLetters(context, consumer, shard, partitionNumbers, options),
    ),
  )
  return byShard
    .flatMap(({ dead }) => [...dead.values()].flat())
    .toSorted((a, b) => a.failedAt - b.failedAt)
    .map(({ id, version, attempts, error, failedAt, replay }) => ({
      id,
      version,
      attempts,
      error,
      failedAt: new Date(failedAt),
      isReplayed: replay,
    }))
}

/**
 * Marks dead letters, all or those of some entities, to be handled again with the current state of the entities. A running consumer takes
 * them up within seconds. Returns their number. Throws `NOT_FOUND` if the store has no such consumer.
 */
export async function replayDeadLetters(
  store: AnyStore,
  consumer: string,
  ids?: readonly EntityId[],
  options: CallOptions = {},
): Promise<number> {
  await checkKnown('replayDeadLetters', store, consumer, options)
  const pick = pickOf('replayDeadLetters', ids)
  return editLetters(store.context, consumer, pick, (letter) => [{ ...letter, replay: true }], options)
}

/** Deletes dead letters, all or those of some entities. Returns their number. Throws `NOT_FOUND` if the store has no such consumer. */
export async function discardDeadLetters(
  store: AnyStore,
  consumer: string,
  ids?: readonly EntityId[],
  options: CallOptions = {},
): Promise<number> {
  await checkKnown('discardDeadLetters', store, consumer, options)
  return editLetters(store.context, consumer, pickOf('discardDeadLetters', ids), () => [], options)
}

/**
 * Deletes a consumer with its places and dead letters on every shard. Throws `SHARD_BUSY` while a process works on it, `NOT_FOUND` if the
 * store has no such consumer. A consumer started later under this name is a new one. After another error, or a crash, the consumer may
 * still be registered without its places: drop it again.
 */
export async function dropConsumer(
  store: AnyStore,
  consumer: string,
  options: CallOptions = {},
): Promise<void> {
  await checkKnown('dropConsumer', store, consumer, options)
  const { context } = store
  const owner = context.random.uuid()
  const taskNames = [
    ...partitionNumbers.map((partition) => partitionTask(consumer, partition)),
    ...partitionNumbers.map((partition) => letterTask(consumer, partition, 'dead')),
    ...partitionNumbers.map((partition) => letterTask(consumer, partition, 'moved')),
    waitingTask(consumer),
  ]
  const emptyTexts = new Map(taskNames.map((name) => [name, '']))
  const shards = presentNumbers(context.driver).map((shard) => shardAt(context, shard))
  const claimed = await Promise.allSettled(
    shards.map(({ tasks }) => tasks.claimAll(taskNames, owner, DROP_LEASE_MS, options)),
  )
  try {
    const refused = claimed.find((answer) => answer.status === 'rejected')
    if (refused !== undefined) throw refused.reason
    requireAll(
      claimed.map((answer) => (answer.status === 'fulfilled' ? answer.value.size : 0)),
      (shard) =>
        `A process works on the consumer ${consumer} on shard ${shard}. Stop it before dropping the consumer; if it has died, wait until its lease has expired.`,
    )
    const cleared = await Promise.all(
      shards.map(({ tasks }) => tasks.saveAll(emptyTexts, owner, DROP_LEASE_MS, options)),
    )
    requireAll(
      cleared.map(({ size }) => size),
      (shard) =>
        `Dropping the consumer ${consumer} took longer than its lease on shard ${shard}, and a process has started it again. Stop that process, and drop the consumer again.`,
    )
  } catch (error) {
    // Restore the texts, and release the leases at once.
    await Promise.allSettled(
      shards.map(async ({ tasks }, shard) => {
        const answer = claimed[shard]
        if (answer?.status !== 'fulfilled') return
        const progress = [...answer.value].map(([name, state]): [string, string] => [name, state.progress])
        await tasks.saveAll(new Map(progress), owner, 0, {})
      }),
    )
    throw error
  }
  try {
    // The order matters. The name goes after the places, so that an interrupted drop can be repeated; and it goes before the leases are
    // released, or a process that waits for partitions would claim them and continue the consumer.
    await unregister(context, consumer, options)
  } finally {
    // Errors do not matter here: leases expire by themselves.
    await Promise.allSettled(shards.map(({ tasks }) => tasks.saveAll(emptyTexts, owner, 0, {})))
  }

  function requireAll(sizes: readonly number[], message: (shard: string) => string): void {
    const shard = shards.find((_, place) => sizes[place]! < taskNames.length)?.name
    if (shard !== undefined) throw new LooseleafError('SHARD_BUSY', message(shard), { shard })
  }
}

async function checkKnown(
  call: string,
  store: AnyStore,
  consumer: string,
  options: CallOptions,
): Promise<void> {
  checkStore(call, store, options, callKinds)
  checkConsumerName(call, consumer)
  const { registries, failure } = await readRegistries(store.context, options)
  const names = [...joinedRegistry(registries).keys()].toSorted()
  if (names.includes(consumer)) return
  // The shard that does not answer may know the consumer, for example after an interrupted drop.
  if (failure !== undefined) throw failure
  const others = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
  throw new LooseleafError('NOT_FOUND', `The store has no consumer ${consumer}; ${others}.`)
}

function pickOf(call: string, ids: readonly EntityId[] | undefined): (letter: StoredLetter) => boolean {
  if (ids === undefined) return () => true
  if (!Array.isArray(ids)) throw badArgument(call, 'an array of ids, or undefined for all', ids)
  for (const id of ids as readonly unknown[]) if (!isId(id)) throw badArgument(call, 'ids', id)
  const wanted = new Set(ids.map(lowerId))
  return ({ id }) => wanted.has(id)
}
