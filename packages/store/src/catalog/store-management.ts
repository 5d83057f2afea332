import {
  badArgument,
  checkOptions,
  systemTime,
  type CallOptions,
  type IndexDefinitionData,
} from '@looseleaf/core'
import { definitionsFromData, type EngineContext } from '@looseleaf/index-engine'
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
import { trainDictionary, type TrainedDictionary, type TrainOptions } from './train-dictionary.ts'
import { requireWhich, type WhichIndex } from './which-index.ts'

/** The calls about a store itself, its indexes and its policies; `StoreQueries` and `DataStore` add those about entities. */
export abstract class StoreManagement {
  /** For those who work beneath the store: the cleaner, the command line, tests. */
  readonly context: EngineContext
  protected readonly calls: StoreCalls
  protected readonly observing: Observing
  protected readonly tally: CallTally
  protected readonly failureNotes: FailureNotes

  protected constructor(context: EngineContext, observing: Observing) {
    this.context = context
    this.observing = observing
    // Notes are for people, and a simulated time has none who read them.
    const takesNotes = context.time === systemTime
    this.failureNotes = createFailureNotes(context, () => this.tally)
    this.tally = createCallTally(
      () => context.time.now(),
      () => takesNotes && this.failureNotes.begin(),
    )
    this.calls = createStoreCalls(observing, this.tally)
  }

  /**
   * Adds an index, or several in one change of the catalog, while the store is in use. Each is `building` until the cleaner
   * has filled it; several are filled by one reading of the entities. One that the store has is shown again if it is hidden.
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
   * Hides an index, before it is dropped: queries of it are refused (`INDEX_NOT_READY`), and writers go on writing it. One that
   * is `building` is not filled meanwhile. By definition its generation, by name all, or one as `{ name, generation }`; false if
   * there is none.
   */
  async hideIndex(which: WhichIndex, options: CallOptions = {}): Promise<boolean> {
    return this.calls.pass('hideIndex', () => markIndex(this.context, 'hideIndex', which, options))
  }

  /**
   * Shows a hidden index again, as it was: one that was ready can be queried at once. `addIndex`, and `open` with `migrate`, do
   * so for their definitions. False if there is none, or it is being dropped.
   */
  async restoreIndex(which: WhichIndex, options: CallOptions = {}): Promise<boolean> {
    return this.calls.pass('restoreIndex', () => markIndex(this.context, 'restoreIndex', which, options))
  }

  /** Stops the filling of an index, in every process within seconds; what is done is kept. False if none is `building`. */
  async pauseIndex(which: WhichIndex, options: CallOptions = {}): Promise<boolean> {
    return this.calls.pass('pauseIndex', () => markIndex(this.context, 'pauseIndex', which, options))
  }

  /** Lets a cleaner go on with a filling that was paused. False if no such index is `building`. */
  async resumeIndex(which: WhichIndex, options: CallOptions = {}): Promise<boolean> {
    return this.calls.pass('resumeIndex', () => markIndex(this.context, 'resumeIndex', which, options))
  }

  /**
   * Drops an index while the store is in use, at once and for good; by definition its generation, by name all of them, or one
   * as `{ name, generation }`. Generations of a unique index that have the same keys share their claims, which go with the last.
   */
  async dropIndex(which: WhichIndex, options: CallOptions = {}): Promise<boolean> {
    checkOptions('dropIndex', options, optionsOf.call)
    requireWhich('dropIndex', which)
    return this.calls.pass('dropIndex', () => dropIndex(this.context, which, options))
  }

  /**
   * Changes what all processes of the store do. When it resolves, no commit goes by what was before, and rows that later commits
   * make superfluous stay as long as it says. With `onIndexFailure: 'defer'` for the first time it waits for five seconds,
   * until the queries of all processes know of it. It needs every shard; one that fails may have begun, and is finished by
   * the next change of the catalog or the next `open`.
   */
  async setPolicies(policies: PolicyChange, options: CallOptions = {}): Promise<void> {
    checkOptions('setPolicies', policies, optionsOf.policies)
    checkOptions('setPolicies', options, optionsOf.call)
    await this.calls.pass('setPolicies', () => changePolicies(this.context, policies, options))
  }

  /**
   * Makes a dictionary of what the entities that were written last have in common, and stores it on every shard. Codecs with
   * `dictionary: true` compress by it from then on: this process at once, others when they meet a body of it or are
   * opened. Earlier ones are kept, since bodies refer to them. The first time it waits for five seconds. It needs every shard.
   */
  async trainDictionary(options: TrainOptions = {}): Promise<TrainedDictionary> {
    checkOptions('trainDictionary', options, optionsOf.train)
    return this.calls.pass('trainDictionary', () => trainDictionary(this.context, options))
  }

  /** The indexes of the store as they are now. */
  async indexes(options: CallOptions = {}): Promise<IndexStatus[]> {
    checkOptions('indexes', options, optionsOf.call)
    return this.calls.pass('indexes', async () => {
      const catalog = await this.context.catalog.reload(options)
      return catalog.indexes.map(indexStatus)
    })
  }

  /**
   * Reports the shards with their counted entities and warnings, the policies and the indexes. A shard that cannot be asked has its error
   * in `shards`. While no shard answers, policies and indexes are those that this process knows; it does not reject then.
   */
  async status(options: CallOptions = {}): Promise<StoreStatus> {
    checkOptions('status', options, optionsOf.call)
    return this.calls.pass('status', () => readStatus(this.context, options))
  }

  /**
   * Does work of several calls as one call: `close` waits for all of it, and lets in the calls that it makes meanwhile. Rejects with
   * `CLOSED` where the store is closed already.
   */
  async holdOpen<T>(work: () => Promise<T>): Promise<T> {
    if (typeof work !== 'function') throw badArgument('holdOpen', 'a function', work)
    return this.calls.hold(work)
  }
}
