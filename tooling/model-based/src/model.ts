import type { FoundEntity, Oracle } from './oracle.ts'
import { knownIds } from './ids.ts'
import type { QueryRequest } from './commands/query-request.ts'

/** Where a cursor of a page leads from, and which way. */
export interface Pager {
  readonly request: QueryRequest
  /** The index as the oracle knew it at the first page: a cursor does not outlive a generation. */
  readonly index: unknown
  readonly cursor: string
  readonly way: 'cursor' | 'previous'
  readonly cut: Cut
}

/** A place between two entities that stood side by side when a page ended there: behind the one, before the other. */
export interface Cut {
  readonly before: FoundEntity
  readonly behind: FoundEntity
}

/** Pages that may be turned from at a time; the oldest is forgotten. */
const PAGERS = 6

/** The oracle, and what a client would remember of the answers so far. */
export class Model {
  readonly oracle: Oracle
  readonly ids: string[] = [...knownIds]
  readonly pagers: Pager[] = []
  readonly #versions = new Map<string, number>()

  constructor(oracle: Oracle) {
    this.oracle = oracle
  }

  /** Ids by number, with those made on the way, in whatever spelling. */
  idAt(number: number): string {
    return this.ids[number % this.ids.length]!
  }

  /** The last version that was seen of an entity; 0 when there is none now. */
  versionOf(id: string): number {
    const key = id.toLowerCase()
    return this.oracle.entities.has(key) ? (this.#versions.get(key) ?? 0) : 0
  }

  turnFrom(pager: Pager): void {
    this.pagers.push(pager)
    if (this.pagers.length > PAGERS) this.pagers.shift()
  }

  /** Remembers a write: its version has to be greater than every one before it. */
  wrote(id: string, version: number | undefined): void {
    const key = id.toLowerCase()
    if (version === undefined) return
    const before = this.#versions.get(key) ?? 0
    if (!Number.isSafeInteger(version) || version <= before) {
      throw new Error(`Entity ${key} went from version ${before} to ${version}.`)
    }
    this.#versions.set(key, version)
  }
}
