import { formatId, type Bag, type CatalogEntry, type Codec, type Key, type Router } from '@looseleaf/core'
import { deriveRows, keyIdentity, mergeCatalogs, shardOfRow, tableSpec } from '@looseleaf/index-engine'
import type { ReferenceDriver, ReferenceIndex } from '@looseleaf-tooling/reference-driver'

/** Looks beneath the store, into what the databases hold at this instant. */
export interface PromiseCheck {
  /** Rows that a ready index lacks, in words; but for those that are known to be pending. */
  missing(): string[]
  /** Everything that keeps the tables from being exactly what the entities say, of every index that is kept up. */
  inexact(): string[]
  /** Tables that stood for another definition before, in words; until `forget`. */
  renamed(): string[]
  /** A shard has fallen back: tables of before may have been forgotten. */
  forget(): void
  /** Whether every shard has the same catalog. */
  catalogsAgree(): boolean
  /** How often `missing` has looked. */
  readonly checks: number
}

interface PlacedRow {
  readonly shard: number
  readonly key: Key
}

export function createPromiseCheck(driver: ReferenceDriver, router: Router, codec: Codec): PromiseCheck {
  /** The rows that a body gives, by the table of an index: bodies do not change. */
  const derived = new WeakMap<Uint8Array, Map<string, readonly PlacedRow[]>>()
  let merged: { epochs: string; entries: readonly CatalogEntry[] } = { epochs: '', entries: [] }
  let checks = 0
  const definitions = new Map<string, string>()

  function entries(): readonly CatalogEntry[] {
    const catalogs = driver.shards.map((shard) => shard.contents())
    const known = catalogs.filter((catalog) => catalog !== undefined)
    const epochs = known.map(({ epoch }) => epoch).join()
    if (known.length < catalogs.length) return []
    if (merged.epochs !== epochs) merged = { epochs, entries: mergeCatalogs(known).indexes }
    return merged.entries
  }

  function rowsOf(entry: CatalogEntry, id: Uint8Array, body: Uint8Array): readonly PlacedRow[] {
    const byTable = derived.get(body) ?? new Map<string, readonly PlacedRow[]>()
    derived.set(body, byTable)
    let rows = byTable.get(entry.table)
    if (rows === undefined) {
      const bag: Bag = codec.decode(body)
      rows = deriveRows(entry, bag).keys.map((key) => ({ key, shard: shardOfRow(entry, router, key, id) }))
      byTable.set(entry.table, rows)
    }
    return rows
  }

  const tablesOf = (entry: CatalogEntry): ReferenceIndex[] => {
    const spec = tableSpec(entry)
    return driver.shards.map((shard) => shard.index(spec))
  }

  const say = (entry: CatalogEntry, id: Uint8Array, { shard, key }: PlacedRow): string =>
    `${entry.table} on ${shard}: ${formatId(id)} ${keyIdentity(key)}`

  /** Rows of committed entities that are not there. */
  function lacking(entry: CatalogEntry, isPending: (id: Uint8Array) => boolean): string[] {
    const tables = tablesOf(entry)
    const found: string[] = []
    for (const { entities } of driver.shards) {
      for (const { id, body } of entities.rows) {
        if (body === null) continue
        for (const row of rowsOf(entry, id, body)) {
          const version = (tables[row.shard] as ReferenceIndex).versionOf(row.key, id)
          if (version === undefined && !isPending(id)) found.push(say(entry, id, row))
        }
      }
    }
    return found
  }

  /** Rows that stand for no committed entity. */
  function dangling(entry: CatalogEntry): string[] {
    return tablesOf(entry).flatMap((table, shard) =>
      table.rows
        .filter(({ entityId, key }) => {
          const body = driver.shards[router.shardOfId(entityId)]?.entities.current(entityId)?.body
          const rows = body ? rowsOf(entry, entityId, body) : []
          return !rows.some((row) => row.shard === shard && keyIdentity(row.key) === keyIdentity(key))
        })
        .map((row) => say(entry, row.entityId, { shard, key: row.key })),
    )
  }

  return {
    get checks() {
      return checks
    },
    renamed() {
      return entries().flatMap(({ table, properties, shardOn, generation }) => {
        const definition = JSON.stringify([properties, shardOn, generation])
        const known = definitions.get(table) ?? definition
        definitions.set(table, definition)
        return known === definition ? [] : [`${table} was ${known} and is ${definition}`]
      })
    },
    forget: () => definitions.clear(),
    catalogsAgree() {
      const catalogs = driver.shards.map((shard) => shard.contents())
      const contents = catalogs.map((catalog) => JSON.stringify([catalog?.epoch, catalog?.indexes]))
      return new Set(contents).size === 1
    },
    missing() {
      checks++
      return entries()
        .filter(({ state }) => state === 'ready')
        .flatMap((entry) => lacking(entry, (id) => isPendingIn(driver, entry.table, id)))
    },
    inexact() {
      const kept = entries().filter(({ state }) => state === 'ready' || state === 'building')
      // One on its way out may have lost its tables, so that nothing can be written into them.
      const leaving = new Set(
        entries()
          .filter(({ state }) => state === 'retiring')
          .map(({ table }) => table),
      )
      const pending = driver.shards
        .flatMap((shard) => shard.pending.rows)
        .filter(({ table }) => !leaving.has(table))
      return [
        ...kept.flatMap((entry) => lacking(entry, () => false)).map((row) => `missing ${row}`),
        ...kept.flatMap((entry) => dangling(entry)).map((row) => `dangling ${row}`),
        ...pending.map(({ table, entityId }) => `still pending ${table}: ${formatId(entityId)}`),
      ]
    },
  }
}

function isPendingIn(driver: ReferenceDriver, table: string, id: Uint8Array): boolean {
  return driver.shards.some((shard) =>
    shard.pending.rows.some((row) => row.table === table && Buffer.compare(row.entityId, id) === 0),
  )
}
