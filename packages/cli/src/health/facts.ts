import type { ConsumerReport } from '@looseleaf/changes'
import type { CleanerReport, IndexReport } from '@looseleaf/cleaner'
import type { EmptiedTable, ShardRewind } from '@looseleaf/cleaner/internal'
import type { LooseleafError } from '@looseleaf/core'
import type { StorePolicies } from '@looseleaf/core/internal'
import type { MoveReport } from '@looseleaf/store'
import type { ListedShard } from '@looseleaf/store'
import type {
  BodyInspection,
  FailureReport,
  OwnerFault,
  ReplicaReport,
  ShardProbe,
} from '@looseleaf/store/internal'

/** An index of the config that the store lacks or defines differently. */
export interface ConfigIndex {
  readonly index: string
  readonly isInStore: boolean
  /** Differences to the newest generation of the store, such as `include: nothing → title`. */
  readonly differs: readonly string[]
}

/** Facts about a store that the rules judge. */
export interface Facts {
  /** Milliseconds since 1970. */
  readonly now: number
  /** Undefined if it could not be read; `error` is the cause. */
  readonly report: CleanerReport | undefined
  /** Error of opening the store or of reading the report. */
  readonly error: LooseleafError | undefined
  /** Policies of the catalog; undefined if it could not be read. */
  readonly policies: StorePolicies | undefined
  /** State of a sample of stored bodies; undefined if it could not be read. */
  readonly bodies: BodyInspection | undefined
  /** Empty if they could not be read, which other rules report. */
  readonly consumers: readonly ConsumerReport[]
  readonly replicas: readonly ReplicaReport[]
  /** Result of a probe of each shard; empty without a catalog. */
  readonly probes: readonly ShardProbe[]
  /** Failing calls of the last hour, from the notes of the store's processes. */
  readonly failures: readonly FailureReport[]
  /** Shards that have gone back in time; empty if they could not be read. */
  readonly wentBack: readonly ShardRewind[]
  /** Tables that have lost rows; empty if they could not be read. */
  readonly lostRows: readonly EmptiedTable[]
  /** Shards with their states, and moves that are not over; empty if they could not be read. */
  readonly shards: readonly ListedShard[]
  readonly moves: readonly MoveReport[]
  /** Buckets with two owners or none; empty if they could not be read. */
  readonly ownerFaults: readonly OwnerFault[]
  /** Empty without a config, and while a shard is silent. */
  readonly configIndexes: readonly ConfigIndex[]
}

/**
 * Grade of a store. `look`: reads and writes work as promised, but the findings need attention on a working day. `act`: some
 * reads or writes fail or return wrong results, or data is at risk.
 */
export type Grade = 'well' | 'look' | 'act'

/** A problem that an operator should know. */
export interface Finding {
  readonly grade: Exclude<Grade, 'well'>
  /** Name of the rule. A name never changes its meaning. */
  readonly rule: string
  /** The shard, index, consumer or codec entry in question; undefined for the whole store. */
  readonly about: string | undefined
  readonly problem: string
  readonly instruction: string
  /** Heading of docs/operations.md with details. */
  readonly see: string
}

/** A finding without the fields that are the same for all findings of its rule. */
export type Problem = Omit<Finding, 'rule' | 'grade' | 'see'>

/** `Needed` are the facts that it judges. */
export interface Rule<Needed = Facts> {
  readonly name: string
  readonly grade: Finding['grade']
  readonly see: string
  /** Returns undefined for items without a problem. */
  find(facts: Needed): readonly (Problem | undefined)[]
}

/** Largest difference between the clocks of processes and servers that rules tolerate, in milliseconds. */
const CLOCKS_DIFFER_MS = 60_000

/** Returns the age of an instant in milliseconds; undefined for an instant in the future, whose clock was ahead. */
export function ageOf(at: Date, { now }: Pick<Facts, 'now'>): number | undefined {
  const ageMs = now - at.getTime()
  return ageMs < -CLOCKS_DIFFER_MS ? undefined : Math.max(0, ageMs)
}

export const indexesOf = ({ report }: Facts): readonly IndexReport[] => report?.indexes ?? []

/** Returns a text such as `index by_user (generation 2) (unique)`. `unique` stands for the claims. */
export function indexText({
  index,
  generation,
  unique,
}: Pick<IndexReport, 'index' | 'generation'> & { readonly unique?: true | undefined }): string {
  return `index ${index}${generation > 1 ? ` (generation ${generation})` : ''}${unique ? ' (unique)' : ''}`
}
