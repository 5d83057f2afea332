import type { CallOptions, IndexDefinitionData, Shard } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import {
  entriesOf,
  isClaimsOf,
  isExpiring,
  isInUse,
  nextGenerations,
  predicateText,
  propertyText,
  sameEntry,
  sameRows,
  tableSpec,
  presentShards,
} from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { includedText } from './index-table.ts'

export interface PlannedIndex {
  readonly index: string
  /**
   * `new`: the store does not have the index. `generation`: the definition differs, so a new generation comes beside the old
   * one. `claims`: the index becomes unique. `restore`: the index is hidden, and becomes visible. `misfits`: only `onMisfit`
   * changes.
   */
  readonly action: 'new' | 'generation' | 'claims' | 'restore' | 'misfits' | 'nothing'
  readonly generation: number
  /** Differences to the newest generation in the store. */
  readonly differs: readonly string[]
  /** Set if the index exists and gets new claims: writes of all programs are refused if another entity has their key. */
  readonly refusesDuplicates?: true
  /** New tables on every shard. */
  readonly tables: readonly { readonly table: string; readonly statements: readonly string[] }[]
}

export interface AddPlan {
  readonly indexes: readonly PlannedIndex[]
  readonly shards: readonly string[]
  /** Current number of entities and tombstones, which a filling reads once for all indexes. 0 without anything to fill. */
  readonly entities: number
}

/** Returns the effect of `store.addIndex`. Only reads. */
export async function planAdd(
  store: DataStore,
  definitions: readonly IndexDefinitionData[],
  options: CallOptions,
): Promise<AddPlan> {
  const { catalog, driver } = store.context
  await catalog.reload(options)
  const indexes = planIndexes(store, definitions)
  const isFilled = indexes.some(({ tables }) => tables.length > 0)
  const counts = isFilled ? presentShards(driver).map((shard) => shard.entities.extent(options)) : []
  const entities = (await Promise.all(counts)).reduce((sum, { rows }) => sum + rows, 0)
  return { indexes, shards: presentShards(driver).map(({ name }) => name), entities }
}

/** Returns the effect of adding each definition, by the catalog that this process knows. */
export function planIndexes(
  { context: { catalog, driver } }: DataStore,
  definitions: readonly IndexDefinitionData[],
): readonly PlannedIndex[] {
  const { indexes: known, shards } = catalog.latest()
  // The number of a dropped generation is not used again.
  const everUsed = shards.flatMap((shard) => shard?.indexes ?? [])
  const added: CatalogEntry[] = []
  return definitions.map((definition) => {
    const planned = planIndex(known, [...everUsed, ...added], definition, presentShards(driver)[0] as Shard)
    added.push(...planned.added)
    return planned.index
  })
}

function planIndex(
  known: readonly CatalogEntry[],
  everUsed: readonly CatalogEntry[],
  definition: IndexDefinitionData,
  shard: Shard,
): { readonly index: PlannedIndex; readonly added: readonly CatalogEntry[] } {
  const { name } = definition
  const using = known.filter((entry) => entry.name === name && isInUse(entry))
  const missing = entriesOf(definition).filter((each) => !using.some((entry) => sameEntry(entry, each)))
  const added = nextGenerations(everUsed, missing)
  const existing = using.find((entry) => !entry.unique && sameRows(entry, definition))
  const before = existing ?? using.findLast(({ unique }) => !unique)
  const rows = added.find(({ unique }) => !unique)
  const action =
    rows !== undefined
      ? before === undefined
        ? 'new'
        : 'generation'
      : added.length > 0
        ? 'claims'
        : existing?.hidden
          ? 'restore'
          : existing?.onMisfit === definition.onMisfit
            ? 'nothing'
            : 'misfits'
  const index: PlannedIndex = {
    index: name,
    action,
    generation: (rows ?? existing)?.generation ?? 1,
    differs: before === undefined ? [] : differences(before, using, definition),
    ...(before !== undefined && added.some(({ unique }) => unique) && { refusesDuplicates: true }),
    tables: added.map((entry) => ({ table: entry.table, statements: statementsOf(shard, entry) })),
  }
  return { index, added }
}

/** Returns the statements that the schema has only because of this entry's table. */
function statementsOf(shard: Shard, entry: CatalogEntry): string[] {
  const others = new Set(shard.schema([]))
  return shard
    .schema([tableSpec(entry)])
    .filter((statement) => !others.has(statement))
    .map((statement) => statement.trim().replace(/;$/, ''))
}

function differences(
  before: CatalogEntry,
  using: readonly CatalogEntry[],
  after: IndexDefinitionData,
): string[] {
  // Generations with the same key share their claims.
  const hasClaims = (side: IndexDefinitionData): boolean => using.some((entry) => isClaimsOf(entry, side))
  const sides = [before, after].map((side) => ({
    properties: side.properties.map(propertyText).join(', '),
    shardOn: side.shardOn,
    on: side.on === undefined ? 'all entities' : predicateText(side.on),
    include: includedText(side),
    onMisfit: side.onMisfit,
    expires: isExpiring(side) ? 'deletes' : 'no',
    unique: String(hasClaims(side) || side.unique === true),
  }))
  const [a, b] = sides as [(typeof sides)[number], (typeof sides)[number]]
  return (['properties', 'shardOn', 'on', 'include', 'onMisfit', 'unique', 'expires'] as const)
    .filter((field) => a[field] !== b[field])
    .map((field) => `${field}: ${a[field]} → ${b[field]}`)
}
