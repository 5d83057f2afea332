import {
  formatId,
  parseId,
  type BulkOptions,
  type CallOptions,
  type Entity,
  type EntityId,
  type Fate,
  type Storable,
} from '@looseleaf/core'
import {
  badArgument,
  checkOptions,
  isVersion,
  noOptions,
  type FateOptions,
  type ValueOptions,
} from '@looseleaf/core/internal'
import { definitionsFromData, type EngineContext, type OnUnavailable } from '@looseleaf/index-engine/internal'
import { MAX_CALLS } from './observing/removed-shards.ts'
import { checkOpen, optionsOf } from './call-options.ts'
import { toDelete, toDeleteDamaged, toInsert, toPut, toUpdate, type Decide } from './writing/decisions.ts'
import { changesOf, type ChangesOptions, type EntityChange } from './reading/changes/changes.ts'
import type { EntityCache } from './reading/freshness/entity-cache.ts'
import type { EntityReader } from './reading/entities/entity-reader.ts'
import { openCache } from './reading/freshness/open-cache.ts'
import type { Sources } from './reading/steps/read.ts'
import { readMany } from './reading/entities/read-many.ts'
import type { AnswerOf, PartialEntities } from './reading/entities/partial-answer.ts'
import { createOwnerCheck } from './reading/owners/owner-check.ts'
import { createReplicaReads, type ReplicaReads } from './reading/freshness/replica-reads.ts'
import {
  createEntityWriter,
  type EntityWriter,
  type EntityWriteOptions,
  type WriteOutcome,
} from './writing/entity-writer.ts'
import type { BatchItem, BatchOptions, BatchResults } from './writing/batch/batch-item.ts'
import { createBatchWriter } from './writing/batch/batch-writer.ts'
import { createStoreBatches, type TakeBatch } from './writing/batch/store-batches.ts'
import { StoreQueries } from './reading/queries/store-queries.ts'
import { createIndexRowWriter } from './writing/index-row-writer.ts'
import { observingOf } from './observing/observing-of.ts'
import type { Observing } from './observing/observing.ts'
import { statsOfShards, type StoreStats } from './store-stats.ts'
import type { Trace } from './observing/trace.ts'
import { openContext } from './opening/open-context.ts'
import { createWarningHandler } from './opening/warning-handler.ts'
import { createRowRemovals, type RowRemovals } from './writing/row-removals.ts'
import { putResult } from './writing/put-result.ts'
import { putMany } from './writing/put-many.ts'
import { scanDamaged, scanEntities } from './reading/entities/scan-entities.ts'
import { createStoreShards, type StoreShards } from './shards/store-shards.ts'
import { perShard } from './calls/per-shard.ts'
import { createShardLanes, type LanesOf } from './calls/shard-lanes.ts'
import { looksOf, type Looks } from '@looseleaf/protocol/internal'
import { freshId, takeBag, type TakenBag } from './calls/take-bag.ts'
import type {
  Edit,
  WriteOptions,
  DamagedEntity,
  DataStoreOptions,
  ExistsOptions,
  GetManyOptions,
  GetOptions,
  InsertOptions,
  NewIdOptions,
  PutOptions,
  PutResult,
  ScanOptions,
} from './types.ts'
import { writePolicy, type WritePolicy } from './writing/write-policy.ts'

/**
 * Stores schema-less entities on the shards of a driver, with indexes. A process needs one per store: concurrent calls share statements. No
 * call holds a lock or a transaction beyond its statements.
 */
export class DataStore extends StoreQueries {
  /** Lists the shards of the store, adds and removes one, and moves buckets between them. */
  readonly shards: StoreShards
  readonly #lanes: LanesOf
  readonly #replicas: ReplicaReads
  readonly #looks: Looks
  readonly #reader: EntityReader
  readonly #cache: EntityCache | undefined
  readonly #writer: EntityWriter
  readonly #takeBatch: TakeBatch
  readonly #removals: RowRemovals
  #closing: Promise<void> | undefined

  private constructor(
    context: EngineContext,
    policy: WritePolicy,
    cache: EntityCache | undefined,
    onWarning: (message: string) => void,
    observing: Observing,
  ) {
    const looks = looksOf(context)
    const lanes: LanesOf = perShard(context.driver, (shard, number) =>
      createShardLanes(shard, observing, createOwnerCheck(context, looks, { shard, number })),
    ).at
    const replicas = createReplicaReads(context, lanes, looks, cache, observing, onWarning)
    const { reader } = replicas.primary
    super(context, replicas, observing)
    const indexRows = createIndexRowWriter(context, lanes)
    this.shards = createStoreShards(context, this.calls)
    this.#lanes = lanes
    this.#replicas = replicas
    this.#looks = looks
    this.#reader = reader
    this.#cache = cache
    const { happened } = observing
    const removals = createRowRemovals(context, indexRows, onWarning)
    const parts = { context, lanesOf: lanes, reader, indexRows, removals, policy, happened }
    this.#removals = removals
    this.#writer = createEntityWriter(parts)
    this.#takeBatch = createStoreBatches(context, createBatchWriter(parts), removals, cache, replicas)
  }

  /**
   * Connects, and checks that the shards belong to one store. If at least one shard answers, only warns of the others; calls that need
   * these fail with `SHARD_UNAVAILABLE` until they answer. With `migrate`, creates missing tables and indexes. Indexes of a new store are
   * ready at once; those of a store in use are `building` until the cleaner has filled them. An index whose table is missing on a shard is
   * replaced by a new generation.
   */
  static async open(options: DataStoreOptions): Promise<DataStore> {
    checkOpen(options)
    definitionsFromData(options.indexes ?? [])
    const onWarning = createWarningHandler(options.onWarning)
    const policy = writePolicy(options)
    const observing = observingOf(options, onWarning)
    const context = await openContext(options, onWarning, observing)
    const cache = options.cache && openCache(options.cache, context, onWarning)
    return new DataStore(context, policy, cache, onWarning, observing)
  }

  /** Makes a fresh id; with `near`, in the bucket of that id or key, so on its shard. Ids sort by the time they were made. */
  newId(options: NewIdOptions = noOptions): EntityId {
    checkOptions('newId', options, optionsOf.newId)
    return formatId(freshId(this.context.router, options.near))
  }

  /**
   * Writes an entity, and replaces any former bag under its id. When it resolves, the entity is committed and every index finds it. Copies
   * the bag at the call, including Dates and bytes, so that later changes to it have no effect.
   */
  async put<B extends object>(bag: Storable<B>, options: PutOptions = noOptions): Promise<PutResult> {
    checkOptions('put', options, optionsOf.put)
    // A call that is made again writes the same bag, under the same id.
    let taken: TakenBag | undefined
    const write = (): Promise<PutResult> =>
      this.#put((taken ??= takeBag(this.context.router, bag, options)), options)
    return this.calls.pass('put', write, undefined, options.signal)
  }

  /** Writes a new entity. Rejects with `ALREADY_EXISTS` if there is one under its id. The id of a deleted entity may be used again. */
  async insert<B extends object>(bag: Storable<B>, options: InsertOptions = noOptions): Promise<PutResult> {
    checkOptions('insert', options, optionsOf.insert)
    const { id, isFresh, properties } = takeBag(this.context.router, bag, options)
    const decide = toInsert(id, properties)
    return this.#putResult(id, await this.#call('insert', id, decide, { signal: options.signal, isFresh }))
  }

  /**
   * Reads an entity, edits it and writes it back, until no other write comes in between. `edit` receives a copy of the bag without the
   * id, and may be called several times. It returns the new bag, or `unchanged` to write nothing. Rejects with `BAD_OPTION` if it returns
   * undefined.
   */
  async update<B extends object>(
    id: EntityId,
    edit: Edit<B>,
    options: WriteOptions = noOptions,
  ): Promise<PutResult> {
    checkOptions('update', options, optionsOf.change)
    if (typeof edit !== 'function') throw badArgument('update', 'a function from bag to bag', edit)
    const bytes = parseId(id)
    const { signal, ifVersion } = options
    const decide = toUpdate(bytes, edit as Edit, ifVersion)
    const addsUp = ifVersion === undefined
    return this.#putResult(bytes, await this.#call('update', bytes, decide, { signal, addsUp, ifVersion }))
  }

  /** Deletes an entity, and returns false if there was none. Leaves a tombstone, so that a late statement cannot bring it back. */
  async delete(id: EntityId, options: WriteOptions = noOptions): Promise<boolean> {
    checkOptions('delete', options, optionsOf.change)
    const bytes = parseId(id)
    return (await this.#call('delete', bytes, toDelete(bytes, options.ifVersion), options)).written
  }

  /**
   * Puts many bags, and resolves with the results of `put` in their order. Tries every bag. If one fails, rejects with `SOME_FAILED`, whose
   * `fates` have the outcome of each; with `{ fates: true }` resolves with the fates instead. Bags with the same id are written in order.
   */
  putMany<B extends object>(bags: readonly Storable<B>[], options: FateOptions): Promise<Fate<PutResult>[]>
  putMany<B extends object>(bags: readonly Storable<B>[], options?: ValueOptions): Promise<PutResult[]>
  async putMany<B extends object>(
    bags: readonly Storable<B>[],
    options: BulkOptions = noOptions,
  ): Promise<(Fate<PutResult> | PutResult)[]> {
    checkOptions('putMany', options, optionsOf.bulk)
    if (!Array.isArray(bags)) throw badArgument('putMany', 'an array of bags', bags)
    const { fates = false, signal } = options
    const take = (bag: unknown): TakenBag => takeBag(this.context.router, bag, {})
    const put = (entity: TakenBag): Promise<PutResult> => this.#putItem(entity, { signal })
    const work = (): ReturnType<typeof putMany> => putMany(bags, take, put, fates, this.tally.items)
    return this.calls.pass('putMany', work, undefined, signal)
  }

  /**
   * Writes up to 100 entities of one bucket in one transaction: all of them, or none. Resolves with the result of each item, in their order.
   * Rejects with the error of the first item that fails; its place is the error's `item`. Rejects with `FAR_APART` if an entity is in another
   * bucket than the first, or than `near`.
   */
  async batch<const Items extends readonly BatchItem[]>(
    items: Items,
    options: BatchOptions = noOptions,
  ): Promise<BatchResults<Items>> {
    checkOptions('batch', options, optionsOf.batch)
    const results = await this.calls.pass('batch', this.#takeBatch(items, options), undefined, options.signal)
    return results as BatchResults<Items>
  }

  /** Reads the entity with this id; undefined if there is none. */
  async get(id: EntityId, options: GetOptions = noOptions): Promise<Entity | undefined> {
    checkOptions('get', options, optionsOf.get)
    const bytes = parseId(id)
    return this.read({ name: 'get', options, run: ({ view }) => view.reader.get(bytes, options) })
  }

  /**
   * Reads the entities with these ids, in their order; undefined for an id without an entity. With `onUnavailable: 'skip'` returns
   * `{ items, unread, complete, missingShards }`, where `unread` has the ids on shards that do not answer.
   */
  async getMany<Handling extends OnUnavailable | undefined = undefined>(
    ids: readonly EntityId[],
    options: GetManyOptions & { readonly onUnavailable?: Handling } = noOptions,
  ): Promise<AnswerOf<Handling, (Entity | undefined)[], PartialEntities>> {
    checkOptions('getMany', options, optionsOf.getMany)
    if (!Array.isArray(ids)) throw badArgument('getMany', 'an array of ids', ids)
    // `map` would skip the holes of a sparse array.
    const bytes = Array.from(ids as readonly EntityId[], (id) => parseId(id))
    const run = ({ view }: Sources, taken: GetManyOptions) => readMany(view, bytes, taken)
    const found = await this.read({ name: 'getMany', options: options as GetManyOptions, run })
    return found as AnswerOf<Handling, (Entity | undefined)[], PartialEntities>
  }

  /** Removes an entity from the cache. Rejects with `CACHE_UNAVAILABLE` if other processes may still find it in a shared cache. */
  async evict(id: EntityId): Promise<void> {
    const bytes = parseId(id)
    await this.calls.pass('evict', async () => this.#cache?.evict(bytes))
  }

  /** Tells whether there is an entity with this id, damaged or not. Does not read its body. */
  async exists(id: EntityId, options: ExistsOptions = noOptions): Promise<boolean> {
    checkOptions('exists', options, optionsOf.exists)
    const bytes = parseId(id)
    return this.read({ name: 'exists', options, run: ({ view }) => view.reader.exists(bytes, options) })
  }

  /**
   * Makes a token for the option `after`. It stands for every write acknowledged before this call, by any process. Has a few dozen
   * characters, may be stored, as in a cookie, and works in every process. Asks no database.
   */
  sessionToken(): string {
    return this.#replicas.sessionToken()
  }

  /**
   * Yields every entity of the store, in no order. An entity whose bucket moves to another shard during the scan may come twice, in a later
   * state the second time.
   */
  scan(options: ScanOptions = noOptions): AsyncIterable<Entity> {
    checkOptions('scan', options, optionsOf.scan)
    this.calls.checkOpen()
    const entities = scanEntities(this.context, this.#reader, options)
    return this.observing.each({ name: 'scan', index: undefined }, entities)
  }

  /**
   * Yields the changes of all entities without end, beginning at `from`. Each is delivered at least once, in the order of the entity's
   * versions, with the state when it is read; intermediate states may be skipped. Misses no committed write, however slow it was. Retries
   * transient errors (`onRetry`). Leave the loop to end it, or fire its `signal`, which ends the loop without an error, as `return` of the
   * iterator does during a wait. Closing the store ends it with `CLOSED`.
   */
  changes(options: ChangesOptions = noOptions): AsyncIterable<EntityChange> {
    checkOptions('changes', options, optionsOf.changes)
    this.calls.checkOpen()
    return changesOf(this.context, this.#reader, options, () => this.calls.checkOpen())
  }

  /** Yields every entity that this process cannot decode, with its stored bytes, in no order. Reads the whole store. */
  scanDamaged(options: CallOptions = noOptions): AsyncIterable<DamagedEntity> {
    checkOptions('scanDamaged', options, optionsOf.call)
    this.calls.checkOpen()
    const damaged = scanDamaged(this.context, this.#reader, options)
    return this.observing.each({ name: 'scanDamaged', index: undefined }, damaged)
  }

  /**
   * Deletes an entity that `scanDamaged` has found. Returns false, and deletes nothing, if its version or bytes have changed since, if another
   * process may be able to read it (`BODY_UNKNOWN`, `BODY_TOO_LARGE`), or if no write can have given its version, which `repairVersion`
   * corrects. The cleaner deletes its index rows. Keep `found.body`, because the store has no other copy.
   */
  async deleteDamaged(found: DamagedEntity, options: CallOptions = noOptions): Promise<boolean> {
    checkOptions('deleteDamaged', options, optionsOf.call)
    const bytes = parseId(found.id)
    if (!isVersion(found.version)) return false
    return (await this.#call('deleteDamaged', bytes, toDeleteDamaged(found), options)).written
  }

  /**
   * Runs a piece of work, such as a page or a job, and records its calls, and the statements sent for them with shard, rows and time. A
   * statement that several calls share is in the trace of each. The trace grows while the work runs. Traces may be nested; the outer one
   * contains the inner. Returns the result of the work.
   */
  async trace<T>(work: (trace: Trace) => Promise<T>): Promise<T> {
    if (typeof work !== 'function') throw badArgument('trace', 'a function', work)
    return this.observing.trace(work)
  }

  /** Returns numbers of this store since it was opened. Asks no database. */
  stats(): StoreStats {
    return {
      callsInFlight: this.calls.inFlight,
      calls: this.tally.calls,
      failures: this.tally.failures(),
      shards: statsOfShards(this.context.driver, this.#lanes, this.#replicas),
      removals: this.#removals.stats(),
      cache: this.#cache?.stats(),
    }
  }

  /** Resolves when the lost index rows of writes acknowledged so far are deleted, after `queryTimeMs`. Programs rarely need it. */
  async settled(): Promise<void> {
    await this.#removals.settled()
  }

  /**
   * Rejects further calls with `CLOSED`, waits for the calls in progress, and closes the connections. Ends consumers and cleaners on this
   * store, and waits up to five seconds for them. The cleaner deletes lost index rows that are not due yet; to have this process delete
   * them, await `settled` first.
   */
  async close(): Promise<void> {
    this.failureNotes.stop()
    this.#closing ??= this.context.closing
      .end(this.calls.close())
      .then(() => Promise.all([this.#removals.close(), this.#cache?.close(), this.#replicas.close()]))
      .then(() => this.#looks.close())
      .then(() => this.context.driver.close())
    await this.#closing
  }

  /** Closes the store, for `await using store = await DataStore.open(…)`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #put({ id, isFresh, properties }: TakenBag, { signal, ifVersion }: PutOptions): Promise<PutResult> {
    const decide = toPut(id, properties, ifVersion)
    return this.#putResult(id, await this.#write(id, decide, { signal, isFresh, ifVersion }))
  }

  /** Puts an item of a bulk call, and again if it failed because of a removed shard. */
  async #putItem(taken: TakenBag, options: PutOptions): Promise<PutResult> {
    for (let calls = 1; ; calls++) {
      try {
        return await this.#put(taken, options)
      } catch (error) {
        if (calls === MAX_CALLS || !(await this.isOfRemovedShard(error, options.signal))) throw error
      }
    }
  }

  #putResult(id: Uint8Array, outcome: WriteOutcome): PutResult {
    return putResult(id, outcome, this.#replicas.sessionToken())
  }

  #call(name: string, id: Uint8Array, decide: Decide, options: EntityWriteOptions): Promise<WriteOutcome> {
    return this.calls.pass(name, () => this.#write(id, decide, options), undefined, options.signal)
  }

  async #write(id: Uint8Array, decide: Decide, options: EntityWriteOptions): Promise<WriteOutcome> {
    if (this.#removals.isFull) await this.#removals.room()
    try {
      const outcome = await this.#writer.write(id, decide, options)
      if (outcome.written) this.context.bodies.written()
      return outcome
    } finally {
      const forgotten = this.#cache?.forget(id)
      if (forgotten !== undefined) await forgotten
    }
  }
}
