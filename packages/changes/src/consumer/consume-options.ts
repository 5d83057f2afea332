import {
  millisecondsOfLease,
  oneOf,
  optionKinds,
  type OptionKind,
  type OptionKinds,
} from '@looseleaf/core/internal'
import type { ChangedEntity } from './changed-entity.ts'
import { kindsOption, type Change, type ConsumedKind } from './consumed-kinds.ts'

export interface ConsumeOptions<
  Handled extends Change = ChangedEntity,
  Kinds extends readonly ConsumedKind[] | undefined = undefined,
> {
  /**
   * Start of a new consumer: `beginning` hands it every stored entity first, `now` only changes from now on. Required for a name that the
   * store does not know: without it `onError` gets `BAD_OPTION` and the consumer ends. A known consumer resumes at its saved place.
   */
  readonly from?: 'beginning' | 'now' | undefined
  /**
   * Kinds whose changes the handler gets, as items. Entities of other kinds cost no handler and mostly no decoding; deletions of all kinds are
   * handed over. A consumer keeps the kinds of its registration. Default: entities of all kinds, as they are stored.
   */
  readonly kinds?: Kinds
  /** Largest number of handlers in flight in this process. Default: 8. */
  readonly concurrency?: number | undefined
  /** Milliseconds between two reads of a shard that has no new changes, 10 or more. Default: 250. */
  readonly pollMs?: number | undefined
  /** Milliseconds until other processes take over the partitions of a dead process, from 100 to 300,000. Default: 15,000. */
  readonly leaseMs?: number | undefined
  /** Milliseconds between the first failure of a change and its retry. Each later pause is twice as long, up to five minutes. Default: 500. */
  readonly retryMs?: number | undefined
  /** Failures after which a change becomes a dead letter. Default: 40, which takes two and a half hours with the default `retryMs`. */
  readonly maxAttempts?: number | undefined
  /**
   * Called with errors of handlers, together with the change, and with errors of shards; the consumer retries both. Also called with the
   * error that ends the consumer. Default: only that last error is reported, to `onWarning` of the store.
   */
  readonly onError?: ((error: unknown, change?: Handled) => void) | undefined
}

export type SettledOptions = {
  readonly [Name in Exclude<keyof ConsumeOptions, 'from' | 'kinds' | 'onError'>]-?: NonNullable<
    ConsumeOptions[Name]
  >
}

const millisecondsFrom = (least: number): OptionKind => ({
  expected: `a number of milliseconds, ${least} or more`,
  fits: (value) => Number.isFinite(value) && (value as number) >= least,
})

export type AnyConsumeOptions = ConsumeOptions<never, readonly ConsumedKind[] | undefined>

export const consumeOptionKinds: OptionKinds<AnyConsumeOptions> = {
  from: oneOf('beginning', 'now'),
  kinds: kindsOption,
  concurrency: optionKinds.count,
  pollMs: millisecondsFrom(10),
  leaseMs: millisecondsOfLease(100),
  retryMs: optionKinds.milliseconds,
  maxAttempts: optionKinds.count,
  onError: optionKinds.function,
}

export function settledOptions(given: AnyConsumeOptions): SettledOptions {
  return {
    concurrency: given.concurrency ?? 8,
    pollMs: given.pollMs ?? 250,
    leaseMs: given.leaseMs ?? 15_000,
    retryMs: given.retryMs ?? 500,
    maxAttempts: given.maxAttempts ?? 40,
  }
}
