import {
  badArgument,
  checkOptions,
  formatId,
  isVersion,
  noOptions,
  parseId,
  withCallbacks,
  type BulkOptions,
  type CallOptions,
  type Entity,
  type EntityId,
  type Fate,
  type FateOptions,
  type Storable,
  type ValueOptions,
} from '@looseleaf/core'
import { definitionsFromData, toEntity, type EngineContext } from '@looseleaf/index-engine'
import { checkCache, optionsOf } from './call-options.ts'
import { isThere, toDelete, toDeleteDamaged, toInsert, toPut, toUpdate } from './writing/decisions.ts'
import { changesOf, type ChangesOptions, type EntityChange } from './reading/changes.ts'
import type { EntityCache } from './reading/entity-cache.ts'
import { createEntityReader, type EntityReader } from './reading/entity-reader.ts'
import { openCache } from './reading/open-cache.ts'
import { readMany } from './reading/read-many.ts'
import { createReplicaReads, isReplicaRead, type ReplicaReads } from './reading/replica-reads.ts'
import {
  createEntityWriter,
  type Decide,
  type EntityWriter,
  type WriteOptions,
  type WriteOutcome,
} from './writing/entity-writer.ts'
import { StoreQueries } from './reading/store-queries.ts'
import { createIndexRowWriter } from './writing/index-row-writer.ts'
import { createObserving, type Observing } from './observing/observing.ts'
import { createSlowCalls } from './observing/slow-calls.ts'
import type { StoreStats } from './store-stats.ts'
import type { Trace } from './observing/trace.ts'
import { openContext } from './opening/open-context.ts'
import { createWarningTeller } from './opening/warning-teller.ts'
import { createRowRemovals, type RowRemovals } from './writing/row-removals.ts'
import { putMany } from './writing/put-many.ts'
import { scanDamaged, scanEntities } from './reading/scan-entities.ts'
import { createShardLanes, type ShardLanes } from './calls/shard-lanes.ts'
import { takeBag, type TakenBag } from './calls/take-bag.ts'
import type {
  Change,
  ChangeOptions,
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
 * Schema-less entities over the shards of a driver, with indexes. One per process and store is enough: calls made at
 * the same time share statements. Nothing here holds a lock or a transaction across calls.
 */
export class DataStore extends StoreQueries {
  readonly #lanes: readonly ShardLanes[]
  readonly #replicas: ReplicaReads
  readonly #reader: EntityReader
  readonly #cache: EntityCache | undefined
  /** Of `get` and `getMany`: through the cache, where there is one. */
  readonly #cachedReader: EntityReader
  /** Of those with `fresh`: past the cache, which keeps what they read. */
  readonly #freshReader: EntityReader
  readonly #writer: EntityWriter
  readonly #removals: RowRemovals
  #closing: Promise<void> | undefined

  private constructor(
    context: EngineContext,
    policy: WritePolicy,
    cache: EntityCache | undefined,
    onWarning: (message: string) => void,
    observing: Observing,
  ) {
    const lanes = context.driver.shards.map((shard) => createShardLanes(shard, observing))
    const reader = createEntityReader(context.router, context.codec, (shard) => lanes[shard]!)
    const replicas = createReplicaReads(context, lanes, reader, observing, onWarning)
    super(context, replicas, observing)
    const indexRows = createIndexRowWriter(context, lanes)
    this.#removals = createRowRemovals(context, indexRows, onWarning)
    this.#lanes = lanes
    this.#replicas = replicas
    this.#reader = reader
    this.#cache = cache
    const readerBy = (lanesBy: EntityCache['over'] = (own) => own): EntityReader => {
      const through = lanes.map(lanesBy)
      return createEntityReader(context.router, context.codec, (shard) => through[shard]!)
    }
    this.#cachedReader = readerBy(cache?.over)
    this.#freshReader = readerBy(cache?.past)
    this.#writer = createEntityWriter(context, lanes, reader, indexRows, this.#removals, policy, observing)
  }

  /**
   * Connects and makes sure that these shards are those of one store. Of those that do not answer it warns, as long as one
   * does; calls that need them fail with `SHARD_UNAVAILABLE` until they are back. With `migrate`, creates what is missing: on
   * a new store the indexes are ready at once, on one in use they are `building` until the cleaner has filled them. So is an
   * index that has lost a table on a shard, which begins anew as a new generation.
   */
  static async open(options: DataStoreOptions): Promise<DataStore> {
    checkOptions('DataStore.open', options, optionsOf.open)
    if (options.shards === undefined) throw badArgument('DataStore.open', '{ shards }', undefined)
    definitionsFromData(options.indexes ?? [])
    if (options.cache !== undefined) checkCache(options.cache)
    const onWarning = createWarningTeller(options.onWarning)
    const policy = writePolicy(options)
    const { slowCallMs, onSlowCall } = options
    if (onSlowCall !== undefined && slowCallMs === undefined)
      throw badArgument('DataStore.open', 'slowCallMs where it takes onSlowCall', slowCallMs)
    const observing = createObserving(
      options.observer,
      (error) => onWarning(`The observer failed: ${String(error)}`),
      slowCallMs === undefined ? undefined : createSlowCalls({ slowCallMs, onSlowCall, onWarning }),
    )
    const context = await openContext(options, onWarning, observing)
    const cache = options.cache && openCache(options.cache, context, onWarning)
    return new DataStore(context, policy, cache, onWarning, observing)
  }

  /** A fresh id, on the shard of another one with `near`. Ids sort by the time they were made. */
  newId(options: NewIdOptions = noOptions): EntityId {
    checkOptions('newId', options, optionsOf.newId)
    const { router } = this.context
    return formatId(options.near === undefined ? router.newId() : router.newId(parseId(options.near)))
  }

  /**
   * Writes an entity whole: whatever was under its id before is replaced. When it resolves, the entity is committed and
   * every index finds it. The bag is copied when `put` is called, down to its Dates and bytes: what is done to it later
   * changes nothing of what is written.
   */
  async put<B extends object>(bag: Storable<B>, options: PutOptions = noOptions): Promise<PutResult> {
    checkOptions('put', options, optionsOf.put)
    return this.calls.pass('put', () => this.#put(takeBag(this.context.router, bag, options.id), options))
  }

  /** Writes an entity that must not be there yet; `ALREADY_EXISTS` otherwise. An id that was deleted is free again. */
  async insert<B extends object>(bag: Storable<B>, options: InsertOptions = noOptions): Promise<PutResult> {
    checkOptions('insert', options, optionsOf.insert)
    const { id, isFresh, properties } = takeBag(this.context.router, bag, options.id)
    const decide = toInsert(id, properties)
    return this.#putResult(id, await this.#call('insert', id, decide, { signal: options.signal, isFresh }))
  }

  /**
   * Reads an entity, changes it and writes it back, again and again until no other write came between. `change` gets a
   * bag of its own without the id, and may be called several times. It returns the new bag, or `unchanged` to leave the entity as
   * it is; `BAD_OPTION` when it returns nothing.
   */
  async update<B extends object>(
    id: EntityId,
    change: Change<B>,
    options: ChangeOptions = noOptions,
  ): Promise<PutResult> {
    checkOptions('update', options, optionsOf.change)
    if (typeof change !== 'function') throw badArgument('update', 'a function from bag to bag', change)
    const bytes = parseId(id)
    const { signal, ifVersion } = options
    const decide = toUpdate(bytes, change as Change, ifVersion)
    const addsUp = ifVersion === undefined
    return this.#putResult(bytes, await this.#call('update', bytes, decide, { signal, addsUp }))
  }

  /** Deletes an entity and answers whether it was there. A tombstone stays, so that nothing late can bring it back. */
  async delete(id: EntityId, options: ChangeOptions = noOptions): Promise<boolean> {
    checkOptions('delete', options, optionsOf.change)
    const bytes = parseId(id)
    const decide = toDelete(bytes, options.ifVersion)
    return (await this.#call('delete', bytes, decide, { signal: options.signal })).written
  }

  /**
   * Puts many bags at once, and answers for each as `put` does. All are tried; when one has failed the call rejects with `SOME_FAILED`,
   * which has the `fates` of all. With `{ fates: true }` it resolves with these. Writes of one id come in the order of the bags.
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
    const take = (bag: unknown): TakenBag => takeBag(this.context.router, bag, undefined)
    return this.calls.pass('putMany', () =>
      putMany(bags, take, (entity) => this.#put(entity, { signal }), fates),
    )
  }

  /** The entity of this id, or undefined. */
  async get(id: EntityId, options: GetOptions = noOptions): Promise<Entity | undefined> {
    checkOptions('get', options, optionsOf.get)
    const bytes = parseId(id)
    if (isReplicaRead(options)) {
      const found = await this.calls.pass('get', () =>
        this.#replicas.read('get', options, ({ reader }) => reader.one(bytes, options)),
      )
      return found && toEntity(found)
    }
    const reader = this.#readerFor('get', options)
    const under = this.calls.begin('get')
    let failed: { readonly error: unknown } | undefined
    try {
      const found = await this.calls.within(under, () => reader.one(bytes, options))
      return found && toEntity(found)
    } catch (error) {
      failed = { error }
      throw error
    } finally {
      this.calls.end(under, failed)
    }
  }

  /** The entities of these ids, in their order, undefined where there is none. */
  async getMany(
    ids: readonly EntityId[],
    options: GetManyOptions = noOptions,
  ): Promise<(Entity | undefined)[]> {
    checkOptions('getMany', options, optionsOf.getMany)
    if (!Array.isArray(ids)) throw badArgument('getMany', 'an array of ids', ids)
    // Not `map`, which would leave out the holes of an array.
    const bytes = Array.from(ids as readonly EntityId[], (id) => parseId(id))
    const read = (taken: GetManyOptions): Promise<(Entity | undefined)[]> =>
      isReplicaRead(options)
        ? this.#replicas.read('getMany', options, (view) => readMany(view, bytes, taken))
        : readMany({ reader: this.#readerFor('getMany', options), isReplicated: false }, bytes, taken)
    return this.calls.pass('getMany', () => withCallbacks(options, read))
  }

  /** Takes an entity out of the cache, if there is one: for what has changed it past this store. `CACHE_UNAVAILABLE` where others may still find it. */
  async evict(id: EntityId): Promise<void> {
    const bytes = parseId(id)
    await this.calls.pass('evict', async () => this.#cache?.evict(bytes))
  }

  /** Whether there is an entity of this id, without reading its body: one that is damaged is there. */
  async exists(id: EntityId, options: ExistsOptions = noOptions): Promise<boolean> {
    checkOptions('exists', options, optionsOf.exists)
    const bytes = parseId(id)
    return this.calls.pass('exists', () =>
      this.#replicas.read('exists', options, ({ reader }) => reader.exists(bytes, options)),
    )
  }

  /**
   * A token for `after`: it stands for everything that was acknowledged before this call, whoever has written it. A few dozen characters that
   * may be kept, as in a session's cookie, and used in any process. Asks no database.
   */
  sessionToken(): string {
    return this.#replicas.sessionToken()
  }

  /** Every entity of the store, in no order. */
  scan(options: ScanOptions = noOptions): AsyncIterable<Entity> {
    checkOptions('scan', options, optionsOf.scan)
    this.calls.checkOpen()
    const entities = scanEntities(this.context, this.#reader, options)
    return this.observing.each({ name: 'scan', index: undefined }, entities)
  }

  /**
   * What becomes of entities, from the time that `from` says on, without an end: at least once, in the order of writing per entity,
   * each as it is when it is read and not every state between. No committed write is missed, however slow it was. Break out of the loop, or use `signal`,
   * to end it. An error that may pass is tried again (`onRetry`).
   */
  changes(options: ChangesOptions = noOptions): AsyncIterable<EntityChange> {
    checkOptions('changes', options, optionsOf.changes)
    this.calls.checkOpen()
    return changesOf(this.context, this.#reader, options, () => this.calls.checkOpen())
  }

  /**
   * Every entity that this process cannot read, with its stored bytes, in no order: what `scan` leaves out with
   * `onDamaged: 'skip'`. Reads the whole store; some MiB of bodies are in hand at once.
   */
  scanDamaged(options: CallOptions = noOptions): AsyncIterable<DamagedEntity> {
    checkOptions('scanDamaged', options, optionsOf.call)
    this.calls.checkOpen()
    const damaged = scanDamaged(this.context, this.#reader, options)
    return this.observing.each({ name: 'scanDamaged', index: undefined }, damaged)
  }

  /**
   * Deletes an entity that `scanDamaged` has found, and answers whether it did. It does not where the entity is no longer
   * as it was found, byte by byte; where another process may be able to read it (`BODY_UNKNOWN`, `BODY_TOO_LARGE`); and where the
   * version is not one that a write has given, which `repairVersion` puts right. Its index rows are left to the cleaner. Keep
   * `found.body`: after this nobody has it.
   */
  async deleteDamaged(found: DamagedEntity, options: CallOptions = noOptions): Promise<boolean> {
    checkOptions('deleteDamaged', options, optionsOf.call)
    const bytes = parseId(found.id)
    if (!isVersion(found.version)) return false
    return (await this.#call('deleteDamaged', bytes, toDeleteDamaged(found), options)).written
  }

  /**
   * Does a piece of work, such as a page or a job, and writes down what it causes in the store: the calls that are made within it,
   * and each statement that was sent for them, with its shard, its rows and its time. A statement that several calls share is in the
   * trace of each. The trace grows while the work goes on. Traces may stand within each other, and each has what is within it. Answers
   * what the work answers.
   */
  async trace<T>(work: (trace: Trace) => Promise<T>): Promise<T> {
    if (typeof work !== 'function') throw badArgument('trace', 'a function', work)
    return this.observing.trace(work)
  }

  /** What this store has done since it was opened, and what it does now. No database is asked. */
  stats(): StoreStats {
    return {
      callsUnderWay: this.calls.underWay,
      shards: this.context.driver.shards.map((shard, number) => ({
        name: shard.name,
        connections: shard.connections?.(),
        lanes: this.#lanes[number]!.stats(),
        replicas: this.#replicas.stats(number),
      })),
      removals: this.#removals.stats(),
      cache: this.#cache?.stats(),
    }
  }

  /**
   * Resolves when the index rows that writes acknowledged so far left behind are deleted, which takes somewhat longer than
   * the store's `queryTimeMs`. Nobody has to wait for that.
   */
  async settled(): Promise<void> {
    await this.#removals.settled()
  }

  /**
   * Refuses further calls with `CLOSED`, waits for those that are under way, and closes the connections. Consumers and
   * cleaners are ended with it, and waited for up to five seconds. Index rows that are kept for queries of other processes are left to the cleaner; wait for `settled` before to have them deleted.
   */
  async close(): Promise<void> {
    this.#closing ??= this.context.closing
      .end(this.calls.close())
      .then(() => Promise.all([this.#removals.close(), this.#cache?.close(), this.#replicas.close()]))
      .then(() => this.context.driver.close())
    await this.#closing
  }

  /** `close`, for `await using store = await DataStore.open(…)`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #put({ id, isFresh, properties }: TakenBag, { signal, ifVersion }: PutOptions): Promise<PutResult> {
    return this.#putResult(id, await this.#write(id, toPut(id, properties, ifVersion), { signal, isFresh }))
  }

  #putResult(id: Uint8Array, { found, version, indexed }: WriteOutcome): PutResult {
    return {
      id: formatId(id),
      version,
      indexed,
      created: !isThere(found),
      token: this.#replicas.sessionToken(),
    }
  }

  /** A call that writes one entity. */
  #call(name: string, id: Uint8Array, decide: Decide, options: WriteOptions): Promise<WriteOutcome> {
    return this.calls.pass(name, () => this.#write(id, decide, options))
  }

  async #write(id: Uint8Array, decide: Decide, options: WriteOptions): Promise<WriteOutcome> {
    if (this.#removals.isFull) await this.#removals.room()
    try {
      return await this.#writer.write(id, decide, options)
    } finally {
      const forgotten = this.#cache?.forget(id)
      if (forgotten !== undefined) await forgotten
    }
  }

  /** What a token stands for may be newer than what a cache has. */
  #readerFor(call: string, { fresh = false, after }: GetOptions): EntityReader {
    this.#replicas.requireOwn(call, after)
    if (fresh) return this.#freshReader
    return after === undefined ? this.#cachedReader : this.#reader
  }
}
