import { idKey, LooseleafError, type CatalogEntry, type IndexRow } from '@looseleaf/core'
import {
  includedPart,
  tableSpec,
  type EngineContext,
  type IndexProperties,
  type QueryCost,
  type QueryOptions,
  type QueryPage,
  type QueryPorts,
  type ReadEntity,
} from '@looseleaf/index-engine'
import type { ShardLanes } from '../calls/shard-lanes.ts'

export interface ListOptions extends QueryOptions {
  /**
   * Holds each row against the version of its entity, and reads the entity where they differ: what is answered is
   * what is committed. Without it a row is believed: it may tell of what was replaced meanwhile, or of a write that never is
   * committed. Default: true.
   */
  readonly verify?: boolean | undefined
}

/**
 * A page of a list. Its items have the properties of the index, of its `on`, and those that it includes, each under its path, and
 * no others.
 */
export interface ListPage<P extends IndexProperties = IndexProperties> extends QueryPage<P> {
  readonly cost: ListCost
  /** Whether each item is its entity as it was committed when it was read. */
  readonly verified: boolean
}

export interface ListCost extends QueryCost {
  /** Entities of which rows alone have told; the other `entitiesRead` were read as a whole. */
  readonly entitiesCovered: number
}

/** What is taken for an entity while it is in hand, besides its bytes as a row holds them. */
const ITEM_BYTES = 200

export interface CoveringReads {
  readonly ports: QueryPorts
  covered(): number
}

/**
 * Ports for a query that takes entities from the rows of a covering index: of each the part that the row with the greatest
 * version holds. A row was written by the attempt whose version it has, so where the entity has that version the row tells what
 * was committed (see `diffRows`); of all others the whole is read, and its part taken.
 */
export function createCoveringReads(
  { router, codec }: EngineContext,
  lanes: readonly ShardLanes[],
  entry: CatalogEntry,
  readWhole: QueryPorts['read'],
  verify: boolean,
): CoveringReads {
  /** Rows that were scanned and not asked for yet, by their entities. */
  const scanned = new Map<string, IndexRow>()
  let covered = 0

  async function committedVersions(
    ids: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<string, number | undefined>> {
    const byShard = Map.groupBy(ids, (id) => router.shardOfId(id))
    const versions = new Map<string, number | undefined>()
    await Promise.all(
      Array.from(byShard, async ([shard, own]) => {
        const found = await lanes[shard]!.version.submitAll(own, signal)
        for (const [i, id] of own.entries()) versions.set(idKey(id), found[i])
      }),
    )
    return versions
  }

  function partOf(row: IndexRow | undefined, id: Uint8Array): ReadEntity | undefined {
    if (row?.included === undefined || row.included === null) return undefined
    const bytes = ITEM_BYTES + row.included.length
    try {
      return { id, bag: codec.decode(row.included), version: row.version, updated: undefined, bytes }
    } catch {
      // The entity says the same, or what is wrong with it.
      return undefined
    }
  }

  /** As a row would tell of it. */
  const partOfWhole = (entity: ReadEntity | undefined): ReadEntity | undefined =>
    entity && { ...entity, bag: includedPart(entry, entity.bag), updated: undefined }

  return {
    covered: () => covered,
    ports: {
      async scan(shard, scan, signal) {
        const lane = lanes[shard]!.index(tableSpec(entry)).scan
        const rows = await lane.submit({ ...scan, included: true }, signal)
        for (const row of rows) {
          const key = idKey(row.entityId)
          const before = scanned.get(key)
          if (before === undefined || row.version > before.version) scanned.set(key, row)
        }
        return rows
      },
      async read(ids, signal, take) {
        const versions = verify ? await committedVersions(ids, signal) : undefined
        const parts = new Map<string, ReadEntity>()
        for (const id of ids) {
          const key = idKey(id)
          const row = scanned.get(key)
          scanned.delete(key)
          const part =
            versions === undefined || versions.get(key) === row?.version ? partOf(row, id) : undefined
          if (part !== undefined) parts.set(key, part)
        }
        covered += parts.size
        const others = ids.filter((id) => !parts.has(idKey(id)))
        const whole = new Map<string, ReadEntity | undefined>()
        let next = 0
        /** Hands over what is known, in the order asked. */
        const handOver = (): boolean => {
          const group: (ReadEntity | undefined)[] = []
          for (; next < ids.length; next++) {
            const key = idKey(ids[next] as Uint8Array)
            const part = parts.get(key)
            if (part === undefined && !whole.has(key)) break
            group.push(part ?? whole.get(key))
            whole.delete(key)
          }
          return group.length === 0 || take(group)
        }
        if (!handOver() || others.length === 0) return
        let at = 0
        await readWhole(others, signal, (group) => {
          for (const entity of group) whole.set(idKey(others[at++] as Uint8Array), partOfWhole(entity))
          return handOver()
        })
      },
    },
  }
}

export function notCovering({ name }: Pick<CatalogEntry, 'name'>): LooseleafError {
  return new LooseleafError(
    'BAD_QUERY',
    `Index ${name} includes no properties, so it cannot list them: add \`include\` to its definition, or use \`query\`.`,
  )
}
