import type { Found, Oracle } from './oracle.ts'
import { knownIds } from './ids.ts'
import type { QueryRequest } from './commands/query-request.ts'

/** A query that is being paged through. */
export interface Pager {
  readonly request: QueryRequest
  /** The index as the oracle knew it at the first page: a cursor does not outlive a generation. */
  readonly index: unknown
  cursor: string
  /** The last entity that was given, and the one that was to follow then. */
  last: Found
  next: Found
  /** What earlier pages gave, less what was written since. */
  readonly given: Set<string>
}

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

  /** Remembers a write: its version has to be greater than every one before it. */
  wrote(id: string, version: number | undefined): void {
    const key = id.toLowerCase()
    for (const pager of this.pagers) pager.given.delete(key)
    if (version === undefined) return
    const before = this.#versions.get(key) ?? 0
    if (!Number.isSafeInteger(version) || version <= before) {
      throw new Error(`Entity ${key} went from version ${before} to ${version}.`)
    }
    this.#versions.set(key, version)
  }
}
