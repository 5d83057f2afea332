import type { Shard } from '@looseleaf/core'
import { wrapShard, type IndexRow } from '@looseleaf/core/internal'

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
  const includedOf = (row: IndexRow): Uint8Array | null | undefined => row.included

  return wrapShard(shard, {
    entities: (entities) => ({
      read: (ids, options) => supplied(entities.read(ids, options), rowBody),
      readBounded: (ids, maxBody, options) => supplied(entities.readBounded(ids, maxBody, options), rowBody),
      async insert(rows, options) {
        await entities.insert(rows, options)
        supply.onWritten()
      },
      async replace(rows, options) {
        const replaced = await entities.replace(rows, options)
        supply.onWritten()
        return replaced
      },
      pageByAdded: (after, limit, options) => supplied(entities.pageByAdded(after, limit, options), rowBody),
      pageByUpdated: (range, limit, options) =>
        supplied(entities.pageByUpdated(range, limit, options), rowBody),
      pageOfChanges: (range, limit, options) =>
        supplied(entities.pageOfChanges(range, limit, options), rowBody),
    }),
    // The included bytes of a covering index may come from entities of other shards.
    index: (table, { covering }) =>
      covering
        ? {
            scan: (scan, options) => supplied(table.scan(scan, options), includedOf),
            async scanMany(scans, options) {
              const lists = await table.scanMany(scans, options)
              await supplied(Promise.resolve(lists.flat()), includedOf)
              return lists
            },
          }
        : {},
    shard: ({ replicas }) => ({ replicas: replicas?.map((replica) => suppliedShard(replica, supply)) }),
  })
}
