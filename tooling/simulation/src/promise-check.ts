import {
  formatId,
  type Bag,
  type CatalogEntry,
  type Codec,
  type EntityId,
  type Router,
} from '@looseleaf/core'
import { deriveRows, keyIdentity, mergeCatalogs, shardOfRow, tableSpec } from '@looseleaf/index-engine'
import type { ReferenceDriver } from '@looseleaf-tooling/reference-driver'

/** Looks beneath the store, into what the databases hold at this instant. */
export interface PromiseCheck {
  /** Rows that a ready index lacks, in words; but for those that are known to be pending. */
  missing(): Promise<string[]>
  /** Rows that stand for no committed entity. */
  dangling(): Promise<string[]>
}

interface PlacedRow {
  readonly entity: EntityId
  readonly shard: number
  readonly identity: string
}

export function createPromiseCheck(driver: ReferenceDriver, router: Router, codec: Codec): PromiseCheck {
  const decoded = new WeakMap<Uint8Array, Bag>()
  const bagOf = (body: Uint8Array): Bag => {
    const bag = decoded.get(body) ?? codec.decode(body)
    decoded.set(body, bag)
    return bag
  }
  const identityOf = (key: readonly (Uint8Array | number | bigint)[], id: Uint8Array): string =>
    `${formatId(id)} ${keyIdentity(key)}`

  async function entries(): Promise<readonly CatalogEntry[]> {
    const catalogs = await Promise.all(driver.shards.map((shard) => shard.catalog.load()))
    const known = catalogs.filter((catalog) => catalog !== undefined)
    return known.length < catalogs.length ? [] : mergeCatalogs(known).indexes
  }

  function expected(entry: CatalogEntry): PlacedRow[] {
    return driver.shards.flatMap((shard) =>
      shard.entities.rows.flatMap(({ id, body }) =>
        body === null
          ? []
          : deriveRows(entry, bagOf(body)).keys.map((key) => ({
              shard: shardOfRow(entry, router, key, id),
              entity: formatId(id),
              identity: identityOf(key, id),
            })),
      ),
    )
  }

  function stored(entry: CatalogEntry): PlacedRow[] {
    return driver.shards.flatMap((shard, number) =>
      shard.index(tableSpec(entry)).rows.map((row) => ({
        shard: number,
        entity: formatId(row.entityId),
        identity: identityOf(row.key, row.entityId),
      })),
    )
  }

  /** `table entity` of every pending row. */
  async function pendingRows(): Promise<ReadonlySet<string>> {
    const pages = await Promise.all(driver.shards.map((shard) => shard.pending.page(Infinity)))
    return new Set(pages.flat().map(({ table, entityId }) => `${table} ${formatId(entityId)}`))
  }

  const text = ({ shard, identity }: PlacedRow): string => `${shard} ${identity}`

  function without(rows: readonly PlacedRow[], others: readonly PlacedRow[], entry: CatalogEntry): string[] {
    const there = new Set(others.map(text))
    return rows.filter((row) => !there.has(text(row))).map((row) => `${entry.table} ${text(row)}`)
  }

  return {
    async missing() {
      const ready = (await entries()).filter((entry) => entry.state === 'ready')
      const pending = await pendingRows()
      return ready.flatMap((entry) => {
        const due = expected(entry).filter((row) => !pending.has(`${entry.table} ${row.entity}`))
        return without(due, stored(entry), entry)
      })
    },
    async dangling() {
      return (await entries()).flatMap((entry) => without(stored(entry), expected(entry), entry))
    },
  }
}
