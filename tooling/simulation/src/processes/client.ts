import { isLooseleafError, metaOf, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { Random } from '@looseleaf-tooling/kit/random'
import type { Operation } from '../history/evidence.ts'
import type { History } from '../history/history.ts'
import type { EntityValues } from '../shapes/indexes.ts'
import { batch } from './batches.ts'
import { namesIn, newBag, valuesFor, wanting } from './new-bag.ts'
import { replicaReads } from './replica-reads.ts'
import { cachedReads, nearSearches, plainReads, searches, searchesForMoved } from './searches.ts'
import type { Circumstances } from '../faults/circumstances.ts'

export interface ClientOptions {
  readonly store: DataStore
  readonly random: Random
  readonly history: History
  /** Entities that all clients write. */
  readonly ids: readonly EntityId[]
  /** Kind of work of the clients; see `Circumstances`. */
  readonly clients: Circumstances['clients']
  readonly names: Circumstances['names']
  readonly cacheMs: Circumstances['cacheMs']
  readonly movers: Circumstances['movers']
  /** Values whose rows are on the shard of all entities; undefined if these are anywhere. */
  readonly nearValues: EntityValues | undefined
  /** Undefined if there are no replicas to read from. */
  readonly replicas: ReplicaClient | undefined
  /** Waits now and then, so that time passes without much work. */
  rest(): Promise<void>
  /** Tells whether the client continues after this many operations. */
  mayGoOn(operations: number): boolean
}

/** State of a client that reads from replicas. */
export interface ReplicaClient {
  /** Offset of the process's clock in milliseconds. */
  readonly skewMs: number
  /** Tokens of all processes, each with the number of changes of the databases when it was made. */
  readonly tokens: { readonly token: string; readonly moment: number }[]
}

/** Runs one caller of a process: sequential operations, each reported to the history. */
export async function runClient(options: ClientOptions): Promise<void> {
  const { random, clients } = options
  const acts = {
    everything: [writes, searches],
    rows: [rowMoves, searchesForMoved],
    keys: [writesOfKeys, [...writesOfKeys, ...searches]],
  }[clients]
  for (let n = 0; options.mayGoOn(n); n++) {
    const act = random.pick(ofPlaces(options) ?? (acts[random.chance(0.6) ? 0 : 1] as readonly Act[]))
    const operation = options.history.begin(options.store)
    try {
      await act(options, operation)
    } catch (error) {
      reportError(options.history, operation, error)
    }
    await options.rest()
  }
}

/** Chosen often if entities are at several places, or near each other. */
function ofPlaces({
  random,
  replicas,
  cacheMs,
  movers,
  nearValues,
}: ClientOptions): readonly Act[] | undefined {
  if (nearValues !== undefined && random.chance(0.25)) return [batch]
  if (nearValues !== undefined && random.chance(0.25)) return nearSearches
  if (replicas !== undefined && random.chance(0.5)) return replicaReads
  if (movers > 0 && random.chance(0.25)) return plainReads
  return cacheMs > 0 && random.chance(0.4) ? cachedReads : undefined
}

/** A retryable error with a known outcome, or a refusal, means that the write did not take place. */
function reportError(history: History, operation: Operation, error: unknown): void {
  if (!isLooseleafError(error)) throw error
  if (error.unknownOutcome) history.counts.unknown++
  else history.failed(operation)
  if (error.code === 'DUPLICATE_KEY') history.refused(operation, error)
}

export type Act = (options: ClientOptions, operation: Operation) => Promise<void>

const put: Act = async (options, operation) => {
  const id = options.random.pick(options.ids)
  const { version } = await options.store.put(newBag(options, operation), { id })
  options.history.acknowledged(operation, id, version)
}

const putIfUnchanged: Act = async (options, operation) => {
  const id = options.random.pick(options.ids)
  const found = await options.store.get(id)
  const ifVersion = (found && metaOf(found)?.version) ?? 0
  const { version } = await options.store.put(newBag(options, operation), { id, ifVersion })
  options.history.acknowledged(operation, id, version, ifVersion)
}

const insert: Act = async (options, operation) => {
  const id = options.random.pick(options.ids)
  const { version } = await options.store.insert(newBag(options, operation), { id })
  options.history.acknowledged(operation, id, version, 0)
}

const update: Act = async (options, operation) => {
  const id = options.random.pick(options.ids)
  const { version } = await options.store.update(id, (before) => ({
    ...before,
    ...newBag(options, operation),
  }))
  options.history.acknowledged(operation, id, version)
}

/** Moves one of the entity's rows, mostly to another shard. */
const move: Act = async (options, operation) => {
  const id = options.random.pick(options.ids)
  const { version } = await options.store.update(id, (before) => ({
    ...before,
    by: operation.number,
    rank: options.random.pick(valuesFor(options).ranks),
  }))
  options.history.acknowledged(operation, id, version)
}

/** Changes only the entity's keys, often to earlier ones. */
const rename: Act = async (options, operation) => {
  const { history, ids, random, store } = options
  const id = random.pick(ids)
  const { version } = await store.update(id, (before) =>
    wanting(operation, { ...before, by: operation.number, names: [random.pick(namesIn(options))] }),
  )
  history.acknowledged(operation, id, version)
}

/** Writes one key alone, whether or not the entity exists. */
const takeOne: Act = async (options, operation) => {
  const { history, ids, random, store } = options
  const id = random.pick(ids)
  const bag = wanting(operation, {
    ...newBag(options, operation),
    names: [random.pick(namesIn(options))],
    seat: null,
  })
  const { version } = await store.put(bag, { id })
  history.acknowledged(operation, id, version)
}

/** A tombstone has no bag that names its operation, so a delete is checked by its effect. */
const remove: Act = async ({ random, ids, store, history }, operation) => {
  const id = random.pick(ids)
  history.deleted(operation, id, await store.delete(id))
}

/** Puts several entities at once, each as its own operation; the first one is the caller's. */
const putMany: Act = async (options, operation) => {
  const { history, ids, random, store } = options
  const chosen = ids.filter(() => random.chance(0.5))
  const operations = chosen.map((_, i) => (i === 0 ? operation : history.begin(store)))
  const fates = await store.putMany(
    operations.map((each, i) => ({ ...newBag(options, each), id: chosen[i] as EntityId })),
    { fates: true },
  )
  for (const [i, fate] of fates.entries()) {
    const each = operations[i] as Operation
    if (fate.ok) history.acknowledged(each, fate.value.id, fate.value.version)
    else reportError(history, each, fate.error)
  }
}

const writes: readonly Act[] = [put, put, putIfUnchanged, insert, insert, update, move, remove, putMany]
const fights: readonly Act[] = [rename, rename, rename, rename, takeOne, takeOne, takeOne, takeOne]
const writesOfKeys: readonly Act[] = [put, putIfUnchanged, insert, update, move, remove, putMany, ...fights]
const rowMoves: readonly Act[] = [put, move, move, move, move, move]
