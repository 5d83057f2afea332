import { countIn, parseObject, toObject, type UpdatedPlace } from '@looseleaf/core'

/** A change that its handler has refused, and that is tried again. */
export interface Failing {
  readonly id: string
  readonly version: number
  /** How often it was refused. */
  readonly attempts: number
  /** The message of the last error, cut. */
  readonly error: string
  /** Milliseconds since 1970, by the clock of the process. */
  readonly failedAt: number
}

/** Where a consumer stands in a partition of a shard. */
export interface PartitionRecord {
  /** Of the consumer's registration: what another one has left of the same name is no place of this one. */
  readonly incarnation: string
  /** Whatever was updated up to here was handled, or is failing, or is a dead letter. */
  readonly place: UpdatedPlace
  /** See `FollowedPlace`. A consumer begins when it is registered. */
  readonly since: number
  readonly failing: readonly Failing[]
  /** Host and process of whoever saved it. */
  readonly process: string
}

export function recordToText({ incarnation, place, since, failing, process }: PartitionRecord): string {
  return JSON.stringify({ incarnation, ...place, since, failing, process })
}

/** The record of such a text; undefined for any other. */
export function recordFromText(text: string): PartitionRecord | undefined {
  const value = parseObject(text)
  if (value === undefined) return undefined
  return {
    incarnation: textIn(value, 'incarnation'),
    place: { updated: countIn(value, 'updated'), addedId: countIn(value, 'addedId') },
    since: countIn(value, 'since'),
    failing: failingIn(value['failing']),
    process: textIn(value, 'process'),
  }
}

/** Empty where there is none. */
export function textIn(value: Readonly<Record<string, unknown>>, name: string): string {
  const text = value[name]
  return typeof text === 'string' ? text : ''
}

/** The items of a list of failing changes; what is none is left out. */
export function failingIn(list: unknown): Failing[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((item) => {
    const value = toObject(item) ?? {}
    const { id, error } = value
    if (typeof id !== 'string' || typeof error !== 'string') return []
    const counts = { version: countIn(value, 'version'), attempts: countIn(value, 'attempts') }
    return [{ id, ...counts, error, failedAt: countIn(value, 'failedAt') }]
  })
}
