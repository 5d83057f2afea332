import { isLooseleafError } from '@looseleaf/core'
import type { Child } from '../lab/child.ts'
import { moment } from '../lab/records.ts'
import type { GrowthConfig, GrowthRecord } from './records.ts'

export type GrowthWorker = Child<GrowthConfig, GrowthRecord>

/** Records a failed call. */
export function recordError({ recorder }: GrowthWorker, call: string, from: number, error: unknown): void {
  const known = isLooseleafError(error)
  recorder.write({
    kind: 'error',
    call,
    from,
    to: moment(),
    code: known ? error.code : 'none',
    message: String(known ? error.message : error),
    retryable: known && error.retryable,
  })
}
