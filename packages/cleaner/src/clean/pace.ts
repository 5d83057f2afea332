import { countIn, toObject } from '@looseleaf/core'
import { throttleReasons, type Throttled } from '../pass/waits.ts'

/** How the work on a part goes, as it was when the part was saved last: other processes can tell from it whether it goes on. */
export interface Pace extends Throttled {
  /** Milliseconds since 1970, by the worker's clock. */
  readonly savedAt: number
  /** Host and process of the worker. */
  readonly worker: string
  /** Entities and rows per second that it reads on this shard. */
  readonly rate: number
}

/** The pace in parsed JSON; undefined where there is none. */
export function paceFrom(value: unknown): Pace | undefined {
  const found = toObject(value) ?? {}
  const savedAt = countIn(found, 'savedAt')
  if (savedAt === 0) return undefined
  const { worker, waited } = found
  return {
    savedAt,
    worker: typeof worker === 'string' ? worker : '',
    rate: countIn(found, 'rate'),
    throttledBy: throttleReasons.find((reason) => reason === found['throttledBy']),
    waited: typeof waited === 'number' ? waited : 0,
  }
}
