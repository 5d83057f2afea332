import type { PartName } from '../parts/part-names.ts'
import type { Bag } from 'looseleaf'
import type { Entry } from '../workload/entry.ts'
import type { Ref } from '../workload/ids.ts'
import type { LayoutName } from '../workload/indexes.ts'
import type { ScenarioName } from '../workload/scenarios.ts'
import type { SideName } from './side-names.ts'

/** A stored entry: its properties and its id. */
export type StoredEntry = Bag & { readonly id: string }

/** An entry of a list, with at least its title and its link. */
export type ListedEntry = StoredEntry

/**
 * A program that the benchmark compares with others, connected to its own databases. A side omits the methods that it has no equivalent
 * of, and is not measured in their scenarios.
 */
export interface Side {
  /** Stores many entries of the data set, each under its id. */
  fill(entries: readonly (readonly [ref: Ref, entry: Entry])[]): Promise<void>
  /** Stores a new entry with its index rows. Resolves once all of it is committed. */
  insert(entry: Entry): Promise<Ref>
  /** Replaces or creates an entry, and updates its index rows. */
  put(ref: Ref, entry: Entry): Promise<void>
  /** Edits properties that no index contains, by compare-and-swap. Retries if another write came in between. */
  update(ref: Ref, change: (bag: Bag) => Bag): Promise<void>
  delete(ref: Ref): Promise<void>
  get(ref: Ref): Promise<StoredEntry | undefined>
  /** Returns entries in the order of the refs, and undefined for each that does not exist. */
  getMany(refs: readonly Ref[]): Promise<readonly (StoredEntry | undefined)[]>
  /** Returns a user's newest entries. */
  page?(user: string, limit: number): Promise<readonly StoredEntry[]>
  /** Returns the same as `page` from a covering index. */
  list?(user: string, limit: number): Promise<readonly ListedEntry[]>
  /** Returns the same as `list` without comparing rows with their entries. Only for a side whose `list` compares. */
  listUnverified?(user: string, limit: number): Promise<readonly ListedEntry[]>
  /** Reads a user's newest entries before a time, page after page, each from the end of the previous one. */
  pages?(user: string, before: Date, limit: number, pages: number): Promise<readonly StoredEntry[]>
  /** Returns the newest entries of all users, from all shards. */
  newest?(limit: number): Promise<readonly StoredEntry[]>
  /** Returns the newest entries with a tag. */
  tagged?(tag: string, limit: number): Promise<readonly StoredEntry[]>
  /** Returns the newest entries of each of these users. */
  pageOfEach?(users: readonly string[], limit: number): Promise<readonly (readonly StoredEntry[])[]>
  count?(user: string): Promise<number>
  /**
   * Takes up to `limit` due jobs of a stripe, so that no other caller has them until their lease ends, and finishes each by a write of its own,
   * after which it is due again at the end of its stripe. Returns the number of jobs that were finished; another caller may have taken the others.
   */
  takeAndFinish?(stripe: string, limit: number): Promise<number>
  /** Resolves once all work that continues after answers has ended, including delayed work. */
  settled(): Promise<void>
  /** Wraps several calls of a caller, or each call of a run at a rate. */
  around?(calls: () => Promise<void>): Promise<void>
  /** Like `settled`, without work that waits for its time. Only for a side that delays work on purpose. */
  caughtUp?(): Promise<void>
  close(): Promise<void>
}

export type ServerKind = 'mariadb' | 'sqlite' | 'postgres'

export interface SideDefinition {
  readonly name: SideName
  /** Title in tables and plots. */
  readonly title: string
  readonly server: ServerKind
  /** True for another configuration of a side, which is measured in the part `calls` alone. */
  readonly isVariant?: boolean
  /** The only part that measures this side. Default: all parts, or `calls` for a variant. */
  readonly onlyIn?: PartName
  /** Scenarios in which this side is not measured. */
  readonly without?: readonly ScenarioName[]
  /** Creates the tables in empty databases, one per shard. */
  create(databases: readonly string[], layout: LayoutName): Promise<void>
  open(databases: readonly string[], layout: LayoutName): Promise<Side>
}
