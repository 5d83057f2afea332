import { LooseleafError } from '@looseleaf/core'
import type { ClaimTable, IndexRow, Key } from '@looseleaf/core/internal'

/** Table of the claims: every key has at most one row. */
export interface ClaimRows {
  /** Throws `INDEX_NOT_FOUND` if there is no table. */
  check(): void
  claimOf(key: Key): IndexRow | undefined
  /** Replaces the claim of its key. */
  put(claim: IndexRow): void
}

/** Greatest number of rows per call, as in the drivers of databases. */
const MAX_ROWS = 500

export function createReferenceClaims(table: string, { check, claimOf, put }: ClaimRows): ClaimTable {
  return {
    async take(rows) {
      check()
      if (rows.length > MAX_ROWS) throw refused(`A call to ${table} has ${MAX_ROWS} rows at the most.`)
      for (const { key, entityId, version } of rows) {
        const claim = claimOf(key)
        if (claim === undefined || (isSame(claim.entityId, entityId) && claim.version < version))
          put({ key, entityId, version })
      }
      return rows.map(({ key }) => claimOf(key))
    },
    async swap({ key, entityId, version }, to) {
      check()
      if (version === to.version && isSame(entityId, to.entityId))
        throw refused(`A swap in ${table} gives a claim what it has.`)
      const claim = claimOf(key)
      if (claim === undefined || claim.version !== version || !isSame(claim.entityId, entityId)) return false
      put({ key, entityId: to.entityId, version: to.version })
      return true
    },
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

function refused(message: string): LooseleafError {
  return new LooseleafError('BAD_OPTION', message)
}
