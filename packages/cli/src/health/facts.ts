import type { ConsumerReport } from '@looseleaf/changes'
import type { CleanerReport, IndexReport, LostRows, ShardWentBack } from '@looseleaf/cleaner'
import type { LooseleafError, StorePolicies } from '@looseleaf/core'
import type { BodiesLook, FailureReport, ReplicaReport, ShardProbe } from '@looseleaf/store'

/** What is known of a store when somebody asks whether all is well. */
export interface Facts {
  /** Milliseconds since 1970. */
  readonly now: number
  /** Undefined where it could not be read, for which `error` has the cause. */
  readonly report: CleanerReport | undefined
  /** Why the store could not be opened, or its report not be read. */
  readonly error: LooseleafError | undefined
  /** Of the catalog; undefined where that could not be read. */
  readonly policies: StorePolicies | undefined
  /** What some stored bodies say; undefined where nobody could look. */
  readonly bodies: BodiesLook | undefined
  /** None where they could not be read, which other rules say. */
  readonly consumers: readonly ConsumerReport[]
  /** Of the shards' replicas, where they have any. */
  readonly replicas: readonly ReplicaReport[]
  /** How each shard has taken a small write; empty where nobody could try. */
  readonly probes: readonly ShardProbe[]
  /** Calls that have failed within an hour, as the processes of the store have noted them. */
  readonly failures: readonly FailureReport[]
  /** Shards that have gone back in time; none where they could not be read. */
  readonly wentBack: readonly ShardWentBack[]
  /** Tables that have lost rows; none where they could not be read. */
  readonly lostRows: readonly LostRows[]
}

/**
 * How a store is. `look`: readers and writers get what they are promised, and somebody should look into it on a working day. `act`: some
 * of them do not, or data is at risk, now.
 */
export type Grade = 'well' | 'look' | 'act'

/** Something that somebody should know. */
export interface Finding {
  readonly grade: Exclude<Grade, 'well'>
  /** The rule that says so; a name never changes its meaning. */
  readonly rule: string
  /** The shard or the index that it is about; undefined for the whole store. */
  readonly about: string | undefined
  readonly what: string
  /** What to do about it. */
  readonly todo: string
  /** The heading of docs/operations.md that has more. */
  readonly see: string
}

export interface Rule {
  readonly name: string
  readonly grade: Finding['grade']
  readonly see: string
  find(facts: Facts): readonly Omit<Finding, 'rule' | 'grade' | 'see'>[]
}

/** The clocks of processes and servers are within this of each other, in milliseconds. */
const CLOCKS_DIFFER_MS = 60_000

/** Age of an instant, in milliseconds; undefined where it is still to come, since the clock that gave it was ahead. */
export function ageOf(at: Date, { now }: Pick<Facts, 'now'>): number | undefined {
  const ageMs = now - at.getTime()
  return ageMs < -CLOCKS_DIFFER_MS ? undefined : Math.max(0, ageMs)
}

export const indexesOf = ({ report }: Facts): readonly IndexReport[] => report?.indexes ?? []

export const lastRunOf = ({
  lastRun,
}: IndexReport): NonNullable<IndexReport['lastRun']>['tally'] | undefined => lastRun?.tally

/** An index by its name, with its generation where that says more, and a word for claims. */
export function indexText({ index, generation, unique }: IndexReport): string {
  return `index ${index}${generation > 1 ? ` (generation ${generation})` : ''}${unique ? ' (unique)' : ''}`
}
