import type { Bag } from 'looseleaf'
import type { Entry } from '../workload/entry.ts'

/** An entry as it was read: its properties, and the id that it is stored under. */
export type StoredEntry = Bag & { readonly id: string }

/** One of the two programs that are held against each other. Both work on the same tables of the same databases. */
export interface Side {
  readonly name: SideName
  /** Stores a new entry with its two index rows; resolves with its id when all three are committed. */
  put(entry: Entry): Promise<string>
  /** Reads an entry, changes properties that no index has, and writes it back unless another write came between; then again. */
  update(id: string, change: (bag: Bag) => Bag): Promise<void>
  get(id: string): Promise<StoredEntry | undefined>
  /** In the order asked; undefined where there is none. */
  getMany(ids: readonly string[]): Promise<readonly (StoredEntry | undefined)[]>
  /** A user's newest entries. */
  queryByUser(userId: string, limit: number): Promise<readonly StoredEntry[]>
  /** Resolves when the work that goes on after an answer has ended. */
  settled(): Promise<void>
  close(): Promise<void>
}

export type SideName = 'looseleaf' | 'hand-written'
