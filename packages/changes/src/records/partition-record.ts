import { countIn, countsIn, parseObject, textIn, toObject, type UpdatedPlace } from '@looseleaf/core/internal'

/** A change whose handler failed and that will be retried. */
export interface Failing {
  readonly id: string
  readonly version: number
  readonly attempts: number
  /** Message of the last error, cut to 500 characters. */
  readonly error: string
  /** Milliseconds since 1970, by the clock of the process. */
  readonly failedAt: number
  /** Set once another shard retries the change. This one keeps it for `deleteDelayMs`, because a failover of that shard may lose it. */
  readonly passed?: PassedOn | undefined
}

export interface PassedOn {
  /** Number of the shard that retries the change. */
  readonly to: number
  /** Milliseconds since 1970, by the clock of the process, when the change was on disk there. */
  readonly at: number
  /** Time of the place of the partition before that, in µs since 1970. */
  readonly behind: number
}

/** The stored progress of a consumer in a partition of a shard. */
export interface PartitionRecord {
  /** Incarnation of the consumer's registration. A record of a dropped consumer with the same name has another one and does not count. */
  readonly incarnation: string
  /** Every change up to this place was handled, is failing, or is a dead letter. */
  readonly place: UpdatedPlace
  /** See `FollowedPlace`. A consumer begins at its registration. */
  readonly since: number
  readonly failing: readonly Failing[]
  /** Host and process id of the last process that saved the record. */
  readonly process: string
}

export function recordToText({ incarnation, place, since, failing, process }: PartitionRecord): string {
  return JSON.stringify({ incarnation, ...place, since, failing, process })
}

/** Parses a stored record. Returns undefined if the text is not one. */
export function recordFromText(text: string): PartitionRecord | undefined {
  const value = parseObject(text)
  if (value === undefined) return undefined
  return {
    incarnation: textIn(value, 'incarnation'),
    place: countsIn(value, ['updated', 'addedId']),
    since: countIn(value, 'since'),
    failing: failingIn(value['failing']),
    process: textIn(value, 'process'),
  }
}

/** Parses a list of failing changes, and skips items that are not valid. */
export function failingIn(list: unknown): Failing[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((item) => {
    const value = toObject(item) ?? {}
    const { id, error } = value
    if (typeof id !== 'string' || typeof error !== 'string') return []
    const passed = toObject(value['passed'])
    return [
      {
        id,
        error,
        ...countsIn(value, ['version', 'attempts', 'failedAt']),
        ...(passed !== undefined && { passed: countsIn(passed, ['to', 'at', 'behind']) }),
      },
    ]
  })
}
