import { millisecondsOfLease, optionKinds, type OptionKind, type OptionKinds } from '@looseleaf/core'
import type { ChangedEntity } from './changed-entity.ts'

export interface ConsumeOptions {
  /**
   * Beginning of a consumer that the store does not know yet: `beginning` hands it every stored entity, `now` only changes from now on. A
   * new consumer needs it: without it `onError` is told `BAD_OPTION`, and the consumer ends. A known consumer goes on where it was.
   */
  readonly from?: 'beginning' | 'now' | undefined
  /** Handlers at work in this process at the same time. Default: 8. */
  readonly concurrency?: number | undefined
  /** Milliseconds between two looks at a shard where nothing is new, 10 or more. Default: 250. */
  readonly pollMs?: number | undefined
  /** How long the work stays with a process that shows no sign of life, in milliseconds, from 100 to 300,000. Default: 15,000. */
  readonly leaseMs?: number | undefined
  /** Milliseconds from a first failure to the next attempt; each later pause is twice as long, up to five minutes. Default: 500. */
  readonly retryMs?: number | undefined
  /** After so many failures a change becomes a dead letter. Default: 40, which takes two and a half hours. */
  readonly maxAttempts?: number | undefined
  /**
   * Told of what a handler throws, with the change, and of errors of shards, all of which are tried again; and of the error that ends the
   * consumer. Default: an error that ends it becomes a warning of the process.
   */
  readonly onError?: ((error: unknown, change?: ChangedEntity) => void) | undefined
}

export type SettledOptions = {
  readonly [Name in Exclude<keyof ConsumeOptions, 'from' | 'onError'>]-?: NonNullable<ConsumeOptions[Name]>
}

const atLeast = (least: number): OptionKind => ({
  expected: `a number of milliseconds, ${least} or more`,
  fits: (value) => Number.isFinite(value) && (value as number) >= least,
})

export const consumeOptionKinds: OptionKinds<ConsumeOptions> = {
  from: { expected: "'beginning' or 'now'", fits: (value) => value === 'beginning' || value === 'now' },
  concurrency: optionKinds.count,
  pollMs: atLeast(10),
  leaseMs: millisecondsOfLease(100),
  retryMs: optionKinds.milliseconds,
  maxAttempts: optionKinds.count,
  onError: optionKinds.function,
}

export function settledOptions(given: ConsumeOptions): SettledOptions {
  return {
    concurrency: given.concurrency ?? 8,
    pollMs: given.pollMs ?? 250,
    leaseMs: given.leaseMs ?? 15_000,
    retryMs: given.retryMs ?? 500,
    maxAttempts: given.maxAttempts ?? 40,
  }
}
