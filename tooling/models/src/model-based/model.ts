import type { FoundEntity, Oracle } from './oracle.ts'
import { knownIds } from './ids.ts'
import type { QueryRequest } from './commands/query-request.ts'

/** Start and direction of the next page. */
export interface Pager {
  readonly request: QueryRequest
  /** Index of the first page, as the oracle knew it: a cursor does not outlive its generation. */
  readonly index: unknown
  readonly cursor: string
  readonly way: 'cursor' | 'previous'
  readonly cut: Cut
}

/** A cut between two formerly adjacent entities: after the first, before the second. */
export interface Cut {
  readonly before: FoundEntity
  readonly behind: FoundEntity
}

/** Number of cursors that are kept; the oldest one is dropped. */
const PAGERS = 6

/** The oracle, and the state that a client would remember. */
export class Model {
  readonly oracle: Oracle
  readonly ids: string[] = [...knownIds]
  readonly pagers: Pager[] = []
  readonly #versions = new Map<string, number>()

  constructor(oracle: Oracle) {
    this.oracle = oracle
  }

  /** Returns an id by number, including fresh ones, in any spelling. */
  idAt(number: number): string {
    return this.ids[number % this.ids.length]!
  }

  /** Returns the last known version of an entity; 0 if there is none. */
  versionOf(id: string): number {
    const key = id.toLowerCase()
    return this.oracle.entities.has(key) ? (this.#versions.get(key) ?? 0) : 0
  }

  turnFrom(pager: Pager): void {
    this.pagers.push(pager)
    if (this.pagers.length > PAGERS) this.pagers.shift()
  }

  /** Records a write, whose version must be greater than all before. */
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
