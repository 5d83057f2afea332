import {
  badArgument,
  isId,
  LooseleafError,
  optionKinds,
  type CallOptions,
  type EntityId,
} from '@looseleaf/core'
import { checkStore, partitionNumbers, partitionTask, shardAt } from '@looseleaf/protocol'
import type { ChangesStore } from '../changes-store.ts'
import { editLetters, readLetters, type StoredLetter } from '../records/dead-letters.ts'
import { checkConsumerName, deadTask, waitingTask } from '../records/names.ts'
import { consumerNames, forget } from '../records/registry.ts'

/** A change that a handler has refused too often. */
export interface DeadLetter {
  readonly id: EntityId
  readonly version: number
  readonly attempts: number
  /** The message of the last error, cut. */
  readonly error: string
  readonly failedAt: Date
  /** Somebody wants it handled again, and the consumer has not come to it yet. */
  readonly isReplayed: boolean
}

const DROP_LEASE_MS = 30_000
const callKinds = { signal: optionKinds.signal }

/** The dead letters of a consumer, the oldest first. */
export async function readDeadLetters(
  store: ChangesStore,
  consumer: string,
  options: CallOptions = {},
): Promise<readonly DeadLetter[]> {
  await checkKnown('readDeadLetters', store, consumer, options)
  const { context } = store
  const each = await Promise.all(
    context.driver.shards.map((_, shard) => readLetters(context, consumer, shard, partitionNumbers, options)),
  )
  return each
    .flatMap((letters) => [...letters.values()].flat())
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
 * Has dead letters handled again, all or those of some entities, as the entities are now. The consumer takes them up within seconds, where it
 * runs. Answers how many there were.
 */
export async function replayDeadLetters(
  store: ChangesStore,
  consumer: string,
  ids?: readonly EntityId[],
  options: CallOptions = {},
): Promise<number> {
  await checkKnown('replayDeadLetters', store, consumer, options)
  const pick = pickOf('replayDeadLetters', ids)
  return editLetters(store.context, consumer, pick, (letter) => [{ ...letter, replay: true }], options)
}

/** Forgets dead letters, all or those of some entities, and answers how many there were. */
export async function discardDeadLetters(
  store: ChangesStore,
  consumer: string,
  ids?: readonly EntityId[],
  options: CallOptions = {},
): Promise<number> {
  await checkKnown('discardDeadLetters', store, consumer, options)
  return editLetters(store.context, consumer, pickOf('discardDeadLetters', ids), () => [], options)
}

/**
 * Forgets a consumer, where it stands and its dead letters, on every shard. Throws `SHARD_BUSY` while a process works on it. One of
 * this name that is started later is a new one. Where it throws, or dies, the consumer may still be known, and have lost its places: drop it
 * again.
 */
export async function dropConsumer(
  store: ChangesStore,
  consumer: string,
  options: CallOptions = {},
): Promise<void> {
  await checkKnown('dropConsumer', store, consumer, options)
  const { context } = store
  const owner = context.random.uuid()
  const tasksOf = [
    ...partitionNumbers.map((partition) => partitionTask(consumer, partition)),
    ...partitionNumbers.map((partition) => deadTask(consumer, partition)),
    waitingTask(consumer),
  ]
  const nothing = new Map(tasksOf.map((name) => [name, '']))
  const each = context.driver.shards.map((_, shard) => shardAt(context, shard))
  const claimed = await Promise.allSettled(
    each.map(({ tasks }) => tasks.claimAll(tasksOf, owner, DROP_LEASE_MS, options)),
  )
  try {
    const refused = claimed.find((answer) => answer.status === 'rejected')
    if (refused !== undefined) throw refused.reason
    requireAll(
      claimed.map((answer) => (answer.status === 'fulfilled' ? answer.value.size : 0)),
      (shard) =>
        `A process works on the consumer ${consumer} on shard ${shard}, or has a moment ago; stop it before the consumer is dropped, or wait until its lease is over.`,
    )
    const cleared = await Promise.all(
      each.map(({ tasks }) => tasks.saveAll(nothing, owner, DROP_LEASE_MS, options)),
    )
    requireAll(
      cleared.map(({ size }) => size),
      (shard) =>
        `To drop the consumer ${consumer} took too long on shard ${shard}, and a process has taken it up: drop it again.`,
    )
  } catch (error) {
    // As it was, and free at once.
    await Promise.allSettled(
      each.map(async ({ tasks }, shard) => {
        const answer = claimed[shard]
        if (answer?.status !== 'fulfilled') return
        const progress = [...answer.value].map(([name, state]): [string, string] => [name, state.progress])
        await tasks.saveAll(new Map(progress), owner, 0, {})
      }),
    )
    throw error
  }
  try {
    // Its name last, so that a drop which ends before can be repeated; and before any of it is free, or a process that stands by would go on with it.
    const forgotten = await Promise.allSettled(
      each.map((_, shard) => forget(context, consumer, shard, options)),
    )
    const failure = forgotten.find((answer) => answer.status === 'rejected')
    if (failure !== undefined) throw failure.reason
  } finally {
    // It is dropped without this as well: leases end by themselves.
    await Promise.allSettled(each.map(({ tasks }) => tasks.saveAll(nothing, owner, 0, {})))
  }

  function requireAll(sizes: readonly number[], message: (shard: string) => string): void {
    const shard = each.find((_, number) => sizes[number]! < tasksOf.length)?.name
    if (shard !== undefined) throw new LooseleafError('SHARD_BUSY', message(shard), { shard })
  }
}

async function checkKnown(
  call: string,
  store: ChangesStore,
  consumer: string,
  options: CallOptions,
): Promise<void> {
  checkStore(call, store, options, callKinds)
  checkConsumerName(call, consumer)
  const { names, failure } = await consumerNames(store.context, options)
  if (names.includes(consumer)) return
  // The shard that does not answer may know it: a drop that has not ended leaves it on some.
  if (failure !== undefined) throw failure
  const there = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
  throw new LooseleafError('NOT_FOUND', `The store has no consumer ${consumer}; ${there}.`)
}

function pickOf(call: string, ids: readonly EntityId[] | undefined): (letter: StoredLetter) => boolean {
  if (ids === undefined) return () => true
  if (!Array.isArray(ids)) throw badArgument(call, 'an array of ids, or undefined for all', ids)
  for (const id of ids as readonly unknown[]) if (!isId(id)) throw badArgument(call, 'ids', id)
  const wanted = new Set(ids as readonly EntityId[])
  return ({ id }) => wanted.has(id)
}
