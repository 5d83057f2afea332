import type { CallOptions, IndexDefinitionData } from '@looseleaf/core'
import { withCallbacks } from '@looseleaf/core/internal'
import type { ServingEntry } from '@looseleaf/index-engine/internal'
import type { ReadyIndexes } from '../../catalog/ready-indexes.ts'
import type { StoreCalls } from '../../observing/store-calls.ts'
import type { Skipping } from '../entities/missing-shards.ts'
import type { ReadView, ReplicaReads, ViewOptions } from '../freshness/replica-reads.ts'

/** Options that every call that reads may have. */
export type ReadCallOptions = CallOptions & ViewOptions

/** A call that reads entities. */
export interface ReadCall<Options extends ReadCallOptions, Result> {
  /** For errors and observers. */
  readonly name: string
  readonly options: Options
  /** The indexes that it reads. A call by id has none. */
  readonly indexes?: readonly IndexDefinitionData[]
  /** True if it judges each entity by its bag, so that an older generation of the index may serve while the newest is filled. */
  readonly mayStandIn?: boolean
  /** True if it rejects when it takes too long; see `ReadKind`. */
  readonly isWhole?: boolean
  /** Plans, reads and judges. Called again if a table was dropped, the layout has changed, or a replica has failed. */
  readonly run: (sources: Sources, options: Options) => Promise<Result>
}

/** The places where a call reads. */
export interface Sources {
  readonly view: ReadView
  /** The generations that serve the indexes of the call, in their order. */
  readonly entries: readonly ServingEntry[]
}

export type Read = <Options extends ReadCallOptions, Result>(
  call: ReadCall<Options, Result>,
) => Promise<Result>

const NO_ENTRIES: readonly ServingEntry[] = []

/**
 * Makes the function through which every call reads. Its steps:
 * 1. admit: a closed store rejects the call, and `close` waits for it;
 * 2. observe: the observer, the open traces and the tally learn of its beginning and its end;
 * 3. callbacks: it waits for the promises of the functions among its options;
 * 4. catalog: the generations that serve its indexes are found, and found again if a table was dropped or the layout has changed meanwhile;
 * 5. servers: it reads the cache, primaries, or replicas, and primaries again if a replica fails; with `onUnavailable: 'skip'` it leaves out
 *    primaries that do not answer;
 * 6. run: it plans, reads and judges. `readPages` has the steps of pages, `readAll` those of calls that need every match.
 */
export function createRead(
  calls: Pick<StoreCalls, 'pass' | 'noticeFailure'>,
  ready: ReadyIndexes,
  replicas: Pick<ReplicaReads, 'read'>,
): Read {
  /** A shard that is left out may have been removed. */
  async function runSkipping<Result>(skipping: Skipping, run: () => Promise<Result>): Promise<Result> {
    const answer = await run()
    if (skipping.error !== undefined) calls.noticeFailure(skipping.error)
    return answer
  }

  return (call) => {
    const { name, indexes = [], mayStandIn = false, isWhole = false, run } = call
    const kind = { byIndex: indexes.length > 0, isWhole }
    return calls.pass(
      name,
      () =>
        withCallbacks(call.options, (options) => {
          const onServers = (entries: readonly ServingEntry[]): ReturnType<typeof run> =>
            replicas.read(name, options, kind, (view) =>
              view.skipping === undefined
                ? run({ view, entries }, options)
                : runSkipping(view.skipping, () => run({ view, entries }, options)),
            )
          return kind.byIndex ? ready.onIndexes(indexes, mayStandIn, onServers) : onServers(NO_ENTRIES)
        }),
      indexes.length === 1 ? indexes[0]!.name : undefined,
      call.options.signal,
    )
  }
}
