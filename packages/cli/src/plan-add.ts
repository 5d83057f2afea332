import type { CallOptions, CatalogEntry, IndexDefinitionData, Shard } from '@looseleaf/core'
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
} from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { includedText } from './index-table.ts'

/** What adding a definition would do. */
export interface PlannedIndex {
  readonly index: string
  /**
   * `new`: an index that the store does not have. `generation`: another definition than the store has, beside it. `claims`:
   * the index is there, and becomes unique. `restore`: it is there and hidden. `misfits`: `onMisfit` alone changes.
   */
  readonly action: 'new' | 'generation' | 'claims' | 'restore' | 'misfits' | 'nothing'
  readonly generation: number
  /** How it differs from the newest generation that is there. */
  readonly differs: readonly string[]
  /** Those that would be made, on every shard. */
  readonly tables: readonly { readonly table: string; readonly statements: readonly string[] }[]
}

export interface AddPlan {
  readonly indexes: readonly PlannedIndex[]
  readonly shards: readonly string[]
  /** Entities and tombstones that a filling would read, once for all indexes: as many as there are now. 0 for nothing to fill. */
  readonly entities: number
}

/** Says what `store.addIndex` would do; reads alone. */
export async function planAdd(
  store: DataStore,
  definitions: readonly IndexDefinitionData[],
  options: CallOptions,
): Promise<AddPlan> {
  const { catalog, driver } = store.context
  const known = (await catalog.reload(options)).indexes
  // Names that were used once are not used again, so dropped generations count.
  const everUsed = catalog.current().shards.flatMap((shard) => shard?.indexes ?? [])
  const coming: CatalogEntry[] = []
  const indexes = definitions.map((definition) => {
    const planned = planOne(known, [...everUsed, ...coming], definition, driver.shards[0] as Shard)
    coming.push(...planned.coming)
    return planned.index
  })
  const counts = coming.length === 0 ? [] : driver.shards.map((shard) => shard.entities.count(options))
  const entities = (await Promise.all(counts)).reduce(
    (sum, count) => sum + count.entities + count.tombstones,
    0,
  )
  return { indexes, shards: driver.shards.map(({ name }) => name), entities }
}

function planOne(
  known: readonly CatalogEntry[],
  everUsed: readonly CatalogEntry[],
  definition: IndexDefinitionData,
  shard: Shard,
): { readonly index: PlannedIndex; readonly coming: readonly CatalogEntry[] } {
  const { name } = definition
  const using = known.filter((entry) => entry.name === name && isInUse(entry))
  const missing = entriesOf(definition).filter((each) => !using.some((entry) => sameEntry(entry, each)))
  const coming = nextGenerations(everUsed, missing)
  const own = using.find((entry) => !entry.unique && sameRows(entry, definition))
  const before = own ?? using.findLast(({ unique }) => !unique)
  const rows = coming.find(({ unique }) => !unique)
  const action =
    rows !== undefined
      ? before === undefined
        ? 'new'
        : 'generation'
      : coming.length > 0
        ? 'claims'
        : own?.hidden
          ? 'restore'
          : own?.onMisfit === definition.onMisfit
            ? 'nothing'
            : 'misfits'
  const index: PlannedIndex = {
    index: name,
    action,
    generation: (rows ?? own)?.generation ?? 1,
    differs: before === undefined ? [] : differences(before, using, definition),
    tables: coming.map((entry) => ({ table: entry.table, statements: statementsOf(shard, entry) })),
  }
  return { index, coming }
}

/** Those of an index table are what a schema has with it, and not without. */
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
  // Where keys are claimed for one generation, they are for all that have the same.
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
    .filter((what) => a[what] !== b[what])
    .map((what) => `${what}: ${a[what]} → ${b[what]}`)
}
