import type { LooseleafError } from '@looseleaf/core'
import {
  badOption,
  checkOptions,
  describeArgument,
  optionKinds,
  parseRanges,
  unionOfRanges,
  type OptionKinds,
} from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { movableBuckets } from './move-work.ts'

/** A move that is to be announced. */
export interface PlannedMove {
  /** Numbers of the shards. */
  readonly from: number
  readonly to: number
  /** Ranges such as `77-96,200`. */
  readonly buckets: string
}

const planKinds: OptionKinds<PlannedMove> = {
  from: optionKinds.elsewhere,
  to: optionKinds.elsewhere,
  buckets: optionKinds.elsewhere,
}

/** Longest text of ranges that a message shows. */
const SHOWN_LENGTH = 40

/** Returns a plan with its buckets in order. Throws `BAD_OPTION` if the store has no such shards or buckets. */
export function checkedPlan(context: EngineContext, planned: PlannedMove): PlannedMove {
  const { length } = movableBuckets(context).shards
  requireNames(planned)
  const { from, to, buckets } = planned
  const ranges = typeof buckets === 'string' ? parseRanges(buckets) : undefined
  const last = ranges?.at(-1)?.[1]
  if (last === undefined || last >= length)
    throw badMove(`buckets are ascending ranges below ${length}, such as 0-76,97; got ${rangesText(buckets)}`)
  const { shards, removed } = context.driver
  const isPresent = (number: unknown): boolean =>
    Number.isInteger(number) && shards[number as number] !== undefined && !removed?.has(number as number)
  if (![from, to].every(isPresent) || from === to) {
    const received = `${describeArgument(from)} and ${describeArgument(to)}`
    throw badMove(
      `from and to are the numbers of two shards, below ${shards.length}, that were not removed; got ${received}`,
    )
  }
  return { from, to, buckets: unionOfRanges(buckets) }
}

/** Throws `BAD_OPTION` for a plan that lacks a property and has another one. A complete plan may have more, such as the counts of `planMoves`. */
function requireNames(planned: PlannedMove): void {
  const given: Partial<PlannedMove> = planned ?? {}
  const isComplete = Object.keys(planKinds).every((name) => given[name as keyof PlannedMove] !== undefined)
  if (!isComplete) checkOptions('A move', planned, planKinds)
}

function rangesText(buckets: unknown): string {
  return typeof buckets === 'string'
    ? JSON.stringify(buckets.slice(0, SHOWN_LENGTH))
    : describeArgument(buckets)
}

/** Makes the error of a move that is impossible. */
export const badMove = (expected: string): LooseleafError =>
  badOption(`This move is not possible: ${expected}.`)
