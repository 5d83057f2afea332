import { bucketRouter, msgpackZlibCodec, parseId, type Codec, type Router } from 'looseleaf'
import type { IndexStatus } from 'looseleaf'
import type { Entry } from '../workload/entry.ts'
import { entriesByLink, entriesByUser } from '../workload/indexes.ts'

/** What both hand-written sides share with Looseleaf, so that the tables are the same byte for byte: routing, bodies, names. */
export interface Placement {
  readonly router: Router
  readonly codec: Codec
  readonly tables: { readonly entities: string; readonly byUser: string; readonly byLink: string }
}

/** The values of a new entry and of its two index rows, and their shards. */
export interface PlacedEntry {
  readonly id: Uint8Array
  readonly version: number
  readonly body: Uint8Array
  readonly shard: number
  readonly userId: Uint8Array
  /** Microseconds since 1970. */
  readonly published: number
  readonly userShard: number
  readonly link: Uint8Array
  readonly linkShard: number
}

export function createPlacement(shards: number, indexes: readonly IndexStatus[]): Placement {
  const tableOf = (name: string): string => {
    const table = indexes.find((index) => index.name === name)?.table
    if (table === undefined) throw new Error(`The store has no index ${name}.`)
    return table
  }
  return {
    router: bucketRouter({ shards }),
    codec: msgpackZlibCodec(),
    tables: {
      entities: 'entities',
      byUser: tableOf(entriesByUser.name),
      byLink: tableOf(entriesByLink.name),
    },
  }
}

export function placeEntry({ router, codec }: Placement, entry: Entry): PlacedEntry {
  const id = router.newId()
  const userId = parseId(entry.user_id)
  const link = Buffer.from(entry.link)
  return {
    id,
    version: nextVersion(0),
    body: codec.encode(entry),
    shard: router.shardOfId(id),
    userId,
    published: entry.published.getTime() * 1000,
    userShard: router.shardOfId(userId),
    link,
    linkShard: router.shardOfKey(link),
  }
}

/** Microseconds since 1970, and always greater than the version that it replaces. */
export function nextVersion(base: number): number {
  return Math.max(base + 1, Date.now() * 1000 + Math.floor(Math.random() * 1000))
}

/** Ids by the shard that has them. */
export function idsByShard(router: Router, ids: readonly Uint8Array[]): Map<number, Uint8Array[]> {
  const groups = new Map<number, Uint8Array[]>()
  for (const id of ids) {
    const shard = router.shardOfId(id)
    const group = groups.get(shard)
    if (group === undefined) groups.set(shard, [id])
    else group.push(id)
  }
  return groups
}
