import type { PartName } from '../parts/part-names.ts'
import type { Bag } from 'looseleaf'
import type { Entry } from '../workload/entry.ts'
import type { Ref } from '../workload/ids.ts'
import type { LayoutName } from '../workload/indexes.ts'
import type { ScenarioName } from '../workload/scenarios.ts'
import type { SideName } from './side-names.ts'

/** An entry as it was read: its properties, and the id that it is stored under. */
export type StoredEntry = Bag & { readonly id: string }

/** What a list shows of an entry: its title and its link, at the least. */
export type ListedEntry = StoredEntry

/**
 * One of the programs that are held against each other, as a process has it: connected to databases of its own. What it has no
 * equal of it leaves out, and is not measured there.
 */
export interface Side {
  /** Stores many entries, each under its id: the data set. */
  fill(entries: readonly (readonly [ref: Ref, entry: Entry])[]): Promise<void>
  /** Stores a new entry with its index rows; resolves when all is committed. */
  insert(entry: Entry): Promise<Ref>
  /** Replaces an entry, or makes it; its rows go with it. */
  put(ref: Ref, entry: Entry): Promise<void>
  /** Reads an entry, changes properties that no index has, and writes it back unless another write came between; then again. */
  update(ref: Ref, change: (bag: Bag) => Bag): Promise<void>
  delete(ref: Ref): Promise<void>
  get(ref: Ref): Promise<StoredEntry | undefined>
  /** In the order asked; undefined where there is none. */
  getMany(refs: readonly Ref[]): Promise<readonly (StoredEntry | undefined)[]>
  /** A user's newest entries. */
  page?(user: string, limit: number): Promise<readonly StoredEntry[]>
  /** The same, of what an index alone has. */
  list?(user: string, limit: number): Promise<readonly ListedEntry[]>
  /** The same without holding what the index has against the entries, for a side whose `list` does that. */
  listUnverified?(user: string, limit: number): Promise<readonly ListedEntry[]>
  /** A user's newest entries before a time, one page after another, each going on where the last one ended. */
  pages?(user: string, before: Date, limit: number, pages: number): Promise<readonly StoredEntry[]>
  /** The newest entries of all users, from all shards. */
  newest?(limit: number): Promise<readonly StoredEntry[]>
  /** The newest entries with a tag. */
  tagged?(tag: string, limit: number): Promise<readonly StoredEntry[]>
  /** The newest entries of each of these users. */
  pageOfEach?(users: readonly string[], limit: number): Promise<readonly (readonly StoredEntry[])[]>
  count?(user: string): Promise<number>
  /** Resolves when the work that goes on after an answer has ended, however late it begins. */
  settled(): Promise<void>
  /** In what the calls that a caller makes one after the other are made; each of those at a rate has a caller of its own. */
  around?(calls: () => Promise<void>): Promise<void>
  /** For a side that puts work off on purpose: resolves when none is under way, whatever waits for its time. */
  caughtUp?(): Promise<void>
  close(): Promise<void>
}

export type ServerKind = 'mariadb' | 'sqlite' | 'postgres'

export interface SideDefinition {
  readonly name: SideName
  /** For people. */
  readonly title: string
  readonly server: ServerKind
  /** Another way to run a side that is there as well: measured in the part `calls` alone. */
  readonly isVariant?: boolean
  /** The one part that it is measured in. Default: all, or `calls` for a variant. */
  readonly onlyIn?: PartName
  /** Scenarios that it has no equal of. */
  readonly without?: readonly ScenarioName[]
  /** Makes the tables, in databases that are new and empty: one a shard. */
  create(databases: readonly string[], layout: LayoutName): Promise<void>
  open(databases: readonly string[], layout: LayoutName): Promise<Side>
}
