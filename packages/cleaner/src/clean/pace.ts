import { countIn, textIn, toObject } from '@looseleaf/core/internal'
import { throttleReasons, type Throttled } from '@looseleaf/protocol/internal'

/** Speed of the work on a part. It is saved with the part, so that other processes can see whether the work proceeds. */
export interface Pace extends Throttled {
  /** Milliseconds since 1970, by the worker's clock. */
  readonly savedAt: number
  /** Host and process id of the worker. */
  readonly worker: string
  /** Entities and rows that the worker reads per second on this shard. */
  readonly rate: number
}

/** Reads a pace from parsed JSON. Returns undefined if there is none. */
export function paceFrom(value: unknown): Pace | undefined {
  const found = toObject(value) ?? {}
  const savedAt = countIn(found, 'savedAt')
  if (savedAt === 0) return undefined
  const { waited } = found
  return {
    savedAt,
    worker: textIn(found, 'worker'),
    rate: countIn(found, 'rate'),
    throttledBy: throttleReasons.find((reason) => reason === found['throttledBy']),
    waited: typeof waited === 'number' ? waited : 0,
  }
}
