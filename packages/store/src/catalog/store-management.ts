import type { CallOptions, IndexDefinitionData } from '@looseleaf/core'
import { badArgument, checkOptions, systemTime } from '@looseleaf/core/internal'
import { definitionsFromData, type EngineContext } from '@looseleaf/index-engine/internal'
import { createRemovalCheck, type RemovalCheck } from '../observing/removed-shards.ts'
import { optionsOf } from '../call-options.ts'
import { createCallTally, type CallTally } from '../failures/call-tally.ts'
import { createFailureNotes, type FailureNotes } from '../failures/note-failures.ts'
import type { Observing } from '../observing/observing.ts'
import { createStoreCalls, type StoreCalls } from '../observing/store-calls.ts'
import type { IndexStatus, StoreStatus } from '../types.ts'
import { addIndex, dropIndex } from './manage-indexes.ts'
import { markIndex } from './mark-indexes.ts'
import { changePolicies, type PolicyChange } from './policies.ts'
import { indexStatus, readStatus } from './status.ts'
import { switchExact } from './switch-exact.ts'
import { trainDictionary, type TrainedDictionary, type TrainOptions } from './train-dictionary.ts'
import { requireWhich, type IndexSelector } from './index-selector.ts'

/** The calls about a store, its indexes and its policies. `StoreQueries` and `DataStore` add the calls about entities. */
export abstract class StoreManagement {
  /** For packages that work beneath the store: the cleaner, the command line, tests. */
  readonly context: EngineContext
  protected readonly calls: StoreCalls
  protected readonly observing: Observing
  protected readonly tally: CallTally
  protected readonly failureNotes: FailureNotes
  protected readonly isOfRemovedShard: RemovalCheck

  protected constructor(context: EngineContext, observing: Observing) {
    this.context = context
    this.observing = observing
    // Notes are for operators, and a simulated store has none.
    const takesNotes = context.time === systemTime
    this.failureNotes = createFailureNotes(context, () => this.tally)
    this.tally = createCallTally(
      () => context.time.now(),
      () => takesNotes && this.failureNotes.begin(),
    )
    this.isOfRemovedShard = createRemovalCheck(context)
    this.calls = createStoreCalls(context.gate, observing, this.tally, this.isOfRemovedShard)
  }

  /**
   * Adds indexes while the store is in use, in one change of the catalog. Each is `building` until the cleaner has filled it; one pass
   * over the entities fills several. Shows an index again that the store has hidden.
   */
  async addIndex(
    definitions: IndexDefinitionData | readonly IndexDefinitionData[],
    options: CallOptions = {},
  ): Promise<void> {
    checkOptions('addIndex', options, optionsOf.call)
    const checked = definitionsFromData([definitions].flat())
    await this.calls.pass('addIndex', () => addIndex(this.context, checked, options))
  }

  /**
   * Hides an index, as a test before it is dropped: queries of it reject with `INDEX_NOT_READY`, writers still write it, and cleaners do
   * not fill it. A definition selects its generation, a name all generations, `{ name, generation }` one. Returns false if there is none.
   */
  async hideIndex(which: IndexSelector, options: CallOptions = {}): Promise<boolean> {
    return this.calls.pass('hideIndex', () => markIndex(this.context, 'hideIndex', which, options))
  }

  /**
   * Shows a hidden index again in its former state: a ready index can be queried at once. `addIndex`, and `open` with `migrate`, do this
   * for their definitions. Returns false if there is no such index, or it is being dropped.
   */
  async restoreIndex(which: IndexSelector, options: CallOptions = {}): Promise<boolean> {
    return this.calls.pass('restoreIndex', () => markIndex(this.context, 'restoreIndex', which, options))
  }

  /** Stops the filling of an index in every process within seconds, and keeps its progress. Returns false if no such index is `building`. */
  async pauseIndex(which: IndexSelector, options: CallOptions = {}): Promise<boolean> {
    return this.calls.pass('pauseIndex', () => markIndex(this.context, 'pauseIndex', which, options))
  }

  /** Lets cleaners continue a paused filling. Returns false if no such index is `building`. */
  async resumeIndex(which: IndexSelector, options: CallOptions = {}): Promise<boolean> {
    return this.calls.pass('resumeIndex', () => markIndex(this.context, 'resumeIndex', which, options))
  }

  /**
   * Drops an index and its tables while the store is in use. A definition selects its generation, a name all generations,
   * `{ name, generation }` one. Generations of a unique index with the same keys share their claims, which go with the last of them.
   * Returns false if there is no such index.
   */
  async dropIndex(which: IndexSelector, options: CallOptions = {}): Promise<boolean> {
    checkOptions('dropIndex', options, optionsOf.call)
    requireWhich('dropIndex', which)
    return this.calls.pass('dropIndex', () => dropIndex(this.context, which, options))
  }

  /**
   * Changes the policies of all processes of the store. When it resolves, no process commits by the old ones. The first
   * `onIndexFailure: 'defer'` waits five seconds, until the queries of all processes look for pending rows. Needs every shard. If it fails,
   * it may have begun; the next change of the catalog, or the next `open`, then finishes it.
   */
  async setPolicies(policies: PolicyChange, options: CallOptions = {}): Promise<void> {
    checkOptions('setPolicies', policies, optionsOf.policies)
    checkOptions('setPolicies', options, optionsOf.call)
    await this.calls.pass('setPolicies', () => changePolicies(this.context, policies, options))
  }

  /**
   * Makes the indexes of the store exact whose rows are on the shards of their entities, now and when they are added, or makes all indexes
   * late again. A row of an exact index is deleted in the write that loses it, and not some seconds later. A new store has exact indexes. In
   * an older one it takes about eleven seconds, and programs of versions before 0.2 are refused from then on. Call it again after a shard was
   * added to a store of one shard. Needs every shard. If it fails, call it again. Throws `BAD_OPTION` for a driver without snapshots.
   */
  async setExactIndexes(isOn: boolean, options: CallOptions = {}): Promise<void> {
    if (typeof isOn !== 'boolean') throw badArgument('setExactIndexes', 'true or false', isOn)
    checkOptions('setExactIndexes', options, optionsOf.call)
    await this.calls.pass('setExactIndexes', () => switchExact(this.context, isOn, options))
  }

  /**
   * Makes a dictionary from the text that recently written entities have in common, and stores it on every shard. Codecs with
   * `dictionary: true` then compress with it: this process at once, another one when it opens the store or reads such a body. Older
   * dictionaries stay, since bodies refer to them. The first time it waits five seconds. Needs every shard.
   */
  async trainDictionary(options: TrainOptions = {}): Promise<TrainedDictionary> {
    checkOptions('trainDictionary', options, optionsOf.train)
    return this.calls.pass('trainDictionary', () => trainDictionary(this.context, options))
  }

  /** Reads the indexes of the store and their states. */
  async indexes(options: CallOptions = {}): Promise<IndexStatus[]> {
    checkOptions('indexes', options, optionsOf.call)
    return this.calls.pass('indexes', async () => {
      const catalog = await this.context.catalog.reload(options)
      return catalog.indexes.map(indexStatus)
    })
  }

  /**
   * Reports the shards with their warnings and numbers of entities, the policies and the indexes. A shard that fails has its error in
   * `shards`. While no shard answers, it does not reject: policies and indexes are then those that this process knows.
   */
  async status(options: CallOptions = {}): Promise<StoreStatus> {
    checkOptions('status', options, optionsOf.call)
    return this.calls.pass('status', () => readStatus(this.context, options))
  }

  /**
   * Runs work that makes several calls as one call: `close` waits for all of it, and still accepts its calls. Rejects with `CLOSED` if the
   * store is closed already.
   */
  async holdOpen<T>(work: () => Promise<T>): Promise<T> {
    if (typeof work !== 'function') throw badArgument('holdOpen', 'a function', work)
    return this.calls.hold(work)
  }
}
