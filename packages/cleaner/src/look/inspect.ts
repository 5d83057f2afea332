import { chunks, idKey, type IndexRow } from '@looseleaf/core/internal'
import { keyIdentity, presentNumbers } from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { IDS_PER_LOOKUP } from '../tools/sizes.ts'
import { expectedIn, type DerivedEntity, type ExpectedRow } from './derive-entity.ts'

export interface MissingRow {
  readonly entity: DerivedEntity
  readonly target: IndexTarget
  readonly row: ExpectedRow
  /** True for an existing row of a covering index whose included properties are out of date. */
  readonly outdated?: true
}

export interface DanglingRow {
  readonly entity: DerivedEntity
  readonly target: IndexTarget
  readonly shard: number
  readonly row: IndexRow
  /** True if the row matches its entity but belongs on another shard. */
  readonly misplaced: boolean
}

/** A row of a covering index with included properties of an attempt that is in flight or has died. */
export interface AheadRow {
  readonly entity: DerivedEntity
  readonly target: IndexTarget
  readonly version: number
}

/** Differences between entities and their index rows. */
export interface WrongRows {
  readonly missing: MissingRow[]
  /** Existing rows of covering indexes with old included properties. They are rewritten like missing rows. */
  readonly outdated: MissingRow[]
  readonly ahead: AheadRow[]
  readonly dangling: DanglingRow[]
}

/**
 * Looks up the rows of entities that were just read, in all indexes with one statement per shard, and compares them. With `everywhere` it
 * reads every shard, and so finds all dangling rows of these entities. Otherwise it reads only the shards of expected rows, and finds only
 * missing rows. Skips entities whose body cannot be decoded.
 *
 * The rows are read after the entities. A writer adds rows before it commits, so each row of the version that was read exists, unless a later
 * version lost it. Before a caller acts on `missing`, it has to read the version again.
 */
export async function inspect(
  pass: Pass,
  targets: readonly IndexTarget[],
  entities: readonly DerivedEntity[],
  { everywhere }: { readonly everywhere: boolean },
): Promise<WrongRows> {
  const wrong: WrongRows = { missing: [], outdated: [], ahead: [], dangling: [] }
  const known = entities.filter(({ expected }) => expected !== undefined)
  const expected = everywhere ? undefined : expectedByShard(targets, known)
  await Promise.all(
    presentNumbers(pass.context.driver).map(async (shard) => {
      const lookup = everywhere ? { entities: known, targets } : expected?.get(shard)
      if (lookup === undefined) return
      for (const chunk of chunks([...lookup.entities], IDS_PER_LOOKUP))
        await inspectShard(pass, [...lookup.targets], shard, chunk, everywhere, wrong)
    }),
  )
  return wrong
}

interface Lookup {
  readonly entities: Set<DerivedEntity>
  readonly targets: Set<IndexTarget>
}

/** Groups the expected rows by shard: the entities with rows there, and the indexes of these rows. */
function expectedByShard(
  targets: readonly IndexTarget[],
  entities: readonly DerivedEntity[],
): ReadonlyMap<number, Lookup> {
  const byShard = new Map<number, Lookup>()
  for (const entity of entities) {
    for (const target of targets) {
      for (const { shard } of expectedIn(entity, target)) {
        const lookup = byShard.get(shard) ?? { entities: new Set(), targets: new Set() }
        byShard.set(shard, lookup)
        lookup.entities.add(entity)
        lookup.targets.add(target)
      }
    }
  }
  return byShard
}

async function inspectShard(
  pass: Pass,
  targets: readonly IndexTarget[],
  shard: number,
  entities: readonly DerivedEntity[],
  everywhere: boolean,
  wrong: WrongRows,
): Promise<void> {
  await pass.throttle.rest(pass.signal)
  const found = await shardAt(pass.context, shard).rowsOf(
    targets.map(({ spec }) => spec),
    entities.map(({ id }) => id),
    { signal: pass.signal },
  )
  // A look everywhere is of the few entities that were written meanwhile, or of the tail, which has no rate.
  const rowCount = found.reduce((sum, rows) => sum + rows.length, 0)
  if (!everywhere) await pass.throttle.take(shard, rowCount, pass.signal)
  for (const [i, target] of targets.entries()) {
    await pass.throttle.rest(pass.signal)
    const rows = found[i] ?? []
    pass.tallyOf(target).rows += rows.length
    compare(target, shard, entities, rows, everywhere, wrong)
  }
}

function compare(
  target: IndexTarget,
  shard: number,
  entities: readonly DerivedEntity[],
  rows: readonly IndexRow[],
  everywhere: boolean,
  wrong: WrongRows,
): void {
  const byEntity = Map.groupBy(rows, ({ entityId }) => idKey(entityId))
  for (const entity of entities) {
    const expected = expectedIn(entity, target)
    const existing = byEntity.size === 0 ? NONE : (byEntity.get(idKey(entity.id)) ?? NONE)
    // A store may have hundreds of indexes, and an entity has rows in few of them.
    if (expected.length === 0 && existing.length === 0) continue
    const versions = new Map(existing.map((row) => [keyIdentity(row.key), row.version]))
    for (const row of expected) {
      if (row.shard !== shard) continue
      const version = versions.get(row.identity)
      if (version === undefined) wrong.missing.push({ entity, target, row })
      else if (target.spec.covering && version < entity.version)
        wrong.outdated.push({ entity, target, row, outdated: true })
      else if (target.spec.covering && version > entity.version) wrong.ahead.push({ entity, target, version })
    }
    if (!everywhere) continue
    for (const row of existing) {
      const placement = placementOf(entity, target, shard, row)
      if (placement !== 'right') {
        wrong.dangling.push({ entity, target, shard, row, misplaced: placement === 'misplaced' })
      }
    }
  }
}

const NONE: readonly IndexRow[] = []

/** Compares a row with the rows of its entity: `right`, `misplaced` (on the wrong shard), or `dangling`. */
export function placementOf(
  entity: DerivedEntity,
  target: IndexTarget,
  shard: number,
  row: IndexRow,
): 'right' | 'misplaced' | 'dangling' {
  const identity = keyIdentity(row.key)
  const matches = expectedIn(entity, target).filter((expected) => expected.identity === identity)
  if (matches.length === 0) return 'dangling'
  return matches.some((expected) => expected.shard === shard) ? 'right' : 'misplaced'
}
