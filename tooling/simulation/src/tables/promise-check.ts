import { formatId } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { contentsEpochOf, keyIdentity } from '@looseleaf/index-engine/internal'
import type { Owners } from '../world/owners.ts'
import type { CommittedRows } from './committed-rows.ts'

/** Compares the tables of the databases with the committed entities, at this instant. */
export interface PromiseCheck {
  /**
   * Returns the rows that ready indexes lack, in words, except pending ones and claims (`KeyCheck` checks
   * those).
   */
  missing(): string[]
  /**
   * Returns all differences between the tables of maintained indexes and the entities. A claim may be missing
   * if `KeyCheck` says so.
   */
  inexact(): string[]
  /** Returns tables that had another definition before, in words; until `forget`. */
  renamed(): string[]
  /** Call after a shard has fallen back: earlier tables may have been undone. */
  forget(): void
  /** Tells whether all shards have the same catalog. */
  catalogsAgree(): boolean
  /** Number of calls of `missing`. */
  readonly checks: number
}

export function createPromiseCheck(owners: Owners, committed: CommittedRows): PromiseCheck {
  const { entries, rowsOf } = committed
  let checks = 0
  const definitions = new Map<string, string>()

  const say = (entry: CatalogEntry, id: Uint8Array, identity: string, shards: readonly number[]): string =>
    `${entry.table} on ${shards.join(' or ')}: ${formatId(id)} ${identity}`

  /** Returns the missing rows of committed entities. */
  function lacking(entry: CatalogEntry, isPending: (id: Uint8Array) => boolean): string[] {
    const found: string[] = []
    committed.each(entry, (row, id, isThere) => {
      if (!isThere && !isPending(id)) found.push(say(entry, id, row.identity, row.shards))
    })
    return found
  }

  /** Returns rows that match no committed entity. */
  function dangling(entry: CatalogEntry): string[] {
    return committed.tablesOf(entry).flatMap((table, shard) =>
      // Rows of writes that did not commit stay on a removed shard.
      (owners.isRemoved(shard) ? [] : table.rows)
        .map(({ entityId, key }) => ({ entityId, shard, identity: keyIdentity(key) }))
        .filter(({ entityId, identity }) => {
          const body = owners.current(entityId)?.body
          const rows = body ? rowsOf(entry, entityId, body) : []
          return !rows.some((row) => row.shards.includes(shard) && row.identity === identity)
        })
        .map((row) => say(entry, row.entityId, row.identity, [row.shard])),
    )
  }

  return {
    get checks() {
      return checks
    },
    renamed() {
      return entries().flatMap(({ table, properties, shardOn, on, generation, unique = false }) => {
        const definition = JSON.stringify([properties, shardOn, on, generation, unique])
        const known = definitions.get(table) ?? definition
        definitions.set(table, definition)
        return known === definition ? [] : [`${table} was ${known} and is ${definition}`]
      })
    },
    forget() {
      definitions.clear()
      committed.forget()
    },
    catalogsAgree() {
      const contents = owners
        .catalogs()
        .map((catalog) => JSON.stringify([contentsEpochOf(catalog), catalog.indexes, catalog.layout]))
      return new Set(contents).size === 1
    },
    missing() {
      checks++
      return entries()
        .filter(({ state, unique }) => state === 'ready' && !unique)
        .flatMap((entry) => lacking(entry, (id) => isPendingAtOwner(owners, entry.table, id)))
    },
    inexact() {
      const kept = entries().filter(({ state }) => state === 'ready' || state === 'building')
      // An index on its way out may have lost its tables, so it cannot be written.
      const leaving = new Set(
        entries()
          .filter(({ state }) => state === 'retiring')
          .map(({ table }) => table),
      )
      const pending = owners
        .members()
        .flatMap((shard, number) => shard.pending.rows.map((row) => ({ ...row, number })))
        .filter(({ table }) => !leaving.has(table))
      return [
        ...kept
          .filter(({ unique }) => !unique)
          .flatMap((entry) => lacking(entry, () => false))
          .map((row) => `missing ${row}`),
        ...kept.flatMap((entry) => dangling(entry)).map((row) => `dangling ${row}`),
        ...pending.map(
          ({ table, entityId, number }) => `still pending ${table} on ${number}: ${formatId(entityId)}`,
        ),
      ]
    },
  }
}

function isPendingAtOwner(owners: Owners, table: string, id: Uint8Array): boolean {
  return owners
    .ofId(id)
    .pending.rows.some((row) => row.table === table && Buffer.compare(row.entityId, id) === 0)
}
