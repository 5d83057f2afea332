import type { CallOptions, Shard } from '@looseleaf/core'
import type { IndexRow, IndexTable } from '@looseleaf/core/internal'

export interface Supply {
  /** Returns the ids of unknown codec entries that a body refers to. Nearly always the same empty list. */
  missing(body: Uint8Array): readonly string[]
  /** Resolves when these are known, or no shard has them. */
  load(ids: ReadonlySet<string>): Promise<void>
  onWritten(): void
}

type HasBody = { readonly body?: Uint8Array | null | undefined } | undefined

/** Wraps a shard so that rows arrive once the codec knows the codec entries of their bodies. Passes all other calls on. */
export function suppliedShard(shard: Shard, supply: Supply): Shard {
  const tables = new Map<string, IndexTable>()

  /** Loads the missing codec entries of an answer. If none is missing, this costs a look at two bytes of each body. */
  function supplied<Row>(
    answer: Promise<readonly Row[]>,
    bodyOf: (row: Row) => Uint8Array | null | undefined,
  ): Promise<readonly Row[]> {
    return answer.then((rows) => {
      let missing: Set<string> | undefined
      for (const row of rows) {
        const body = bodyOf(row)
        if (body === undefined || body === null) continue
        for (const id of supply.missing(body)) (missing ??= new Set()).add(id)
      }
      return missing === undefined ? rows : supply.load(missing).then(() => rows)
    })
  }
  const rowBody = (row: HasBody): Uint8Array | null | undefined => row?.body
  const { entities } = shard

  return {
    name: shard.name,
    entities: {
      read: (ids, options) => supplied(entities.read(ids, options), rowBody),
      readBounded: (ids, maxBody, options) => supplied(entities.readBounded(ids, maxBody, options), rowBody),
      readVersions: (ids, options) => entities.readVersions(ids, options),
      exist: (ids, options) => entities.exist(ids, options),
      async insert(rows, options) {
        await entities.insert(rows, options)
        supply.onWritten()
      },
      async replace(rows, options) {
        const replaced = await entities.replace(rows, options)
        supply.onWritten()
        return replaced
      },
      repairVersion: (id, version, options) => entities.repairVersion(id, version, options),
      pageByAdded: (after, limit, options) => supplied(entities.pageByAdded(after, limit, options), rowBody),
      pageByUpdated: (range, limit, options) =>
        supplied(entities.pageByUpdated(range, limit, options), rowBody),
      pageOfChanges: (range, limit, options) =>
        supplied(entities.pageOfChanges(range, limit, options), rowBody),
      floor: (options) => entities.floor(options),
      raiseFloor: (options) => entities.raiseFloor(options),
      raisePurged: (to, options) => entities.raisePurged(to, options),
      purge: (ids, options) => entities.purge(ids, options),
      count: (options) => entities.count(options),
    },
    catalog: shard.catalog,
    tasks: shard.tasks,
    pending: shard.pending,
    definitions: shard.definitions,
    index(spec) {
      const table = shard.index(spec)
      if (!spec.covering) return table
      let known = tables.get(spec.table)
      if (known === undefined) tables.set(spec.table, (known = suppliedTable(table)))
      return known
    },
    claims: (spec) => shard.claims(spec),
    rowsOf: (specs, ids, options) => shard.rowsOf(specs, ids, options),
    createTables: (options) => shard.createTables(options),
    createIndexTable: (spec, options) => shard.createIndexTable(spec, options),
    dropIndexTable: (spec, options) => shard.dropIndexTable(spec, options),
    schema: (indexes) => shard.schema(indexes),
    flush: (options) => shard.flush(options),
    now: (options) => shard.now(options),
    replicas: shard.replicas?.map((replica) => suppliedShard(replica, supply)),
    connections: () => shard.connections?.(),
    sizes: async (options) => shard.sizes?.(options),
    ...(shard.activity && { activity: (options?: CallOptions) => shard.activity!(options) }),
    warnings: (options) => shard.warnings(options),
  }

  /** Wraps the table of a covering index, whose included bytes may come from entities of other shards. */
  function suppliedTable(table: IndexTable): IndexTable {
    const includedOf = (row: IndexRow): Uint8Array | null | undefined => row.included
    return {
      upsert: (rows, options) => table.upsert(rows, options),
      remove: (rows, options) => table.remove(rows, options),
      repairStamps: (id, version, options) => table.repairStamps(id, version, options),
      scan: (scan, options) => supplied(table.scan(scan, options), includedOf),
      async scanMany(scans, options) {
        const lists = await table.scanMany(scans, options)
        await supplied(Promise.resolve(lists.flat()), includedOf)
        return lists
      },
      count: (range, options) => table.count(range, options),
      countMany: (ranges, options) => table.countMany(ranges, options),
    }
  }
}
