import { idKey, type IndexRow } from '@looseleaf/core'
import { keyIdentity } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { chunks, IDS_PER_LOOKUP } from '../tools/chunks.ts'
import { expectedIn, type DerivedEntity, type ExpectedRow } from './derive-entity.ts'

export interface MissingRow {
  readonly entity: DerivedEntity
  readonly target: IndexTarget
  readonly row: ExpectedRow
  /** True for a row that is there, of a covering index, and holds what its entity had before. */
  readonly outdated?: true
}

export interface DanglingRow {
  readonly entity: DerivedEntity
  readonly target: IndexTarget
  /** The shard on which the row stands. */
  readonly shard: number
  readonly row: IndexRow
  /** True when it would be right on another shard. */
  readonly misplaced: boolean
}

/** What is wrong with some entities' rows. */
export interface WrongRows {
  readonly missing: MissingRow[]
  /** Rows of a covering index that are there, and hold what their entity had before: written again like a missing one. */
  readonly outdated: MissingRow[]
  readonly dangling: DanglingRow[]
}

/**
 * Looks up the rows of entities that were just read, and compares. `everywhere` asks every shard, and so finds all
 * dangling rows of these entities; otherwise only the shards on which a row is expected are asked, and only missing
 * rows are found. An entity whose body cannot be decoded is passed over: nobody knows which rows are its own. All indexes
 * are looked up together, shard by shard.
 *
 * The entities have been read before the rows. A writer adds rows before it commits, so a row of the version that was
 * read is there unless a later version has lost it; whoever acts on `missing` has to read the version once more.
 */
export async function inspect(
  pass: Pass,
  targets: readonly IndexTarget[],
  entities: readonly DerivedEntity[],
  { everywhere }: { readonly everywhere: boolean },
): Promise<WrongRows> {
  const wrong: WrongRows = { missing: [], outdated: [], dangling: [] }
  const known = entities.filter(({ expected }) => expected !== undefined)
  const asked = everywhere ? undefined : expectedByShard(targets, known)
  await Promise.all(
    pass.context.driver.shards.map(async (_, shard) => {
      const those = everywhere ? { entities: known, targets } : asked?.get(shard)
      if (those === undefined) return
      for (const chunk of chunks([...those.entities], IDS_PER_LOOKUP))
        await inspectShard(pass, [...those.targets], shard, chunk, everywhere, wrong)
    }),
  )
  return wrong
}

interface RowsToRead {
  readonly entities: Set<DerivedEntity>
  readonly targets: Set<IndexTarget>
}

/** By shard, the entities with rows there and the indexes that they are in. */
function expectedByShard(
  targets: readonly IndexTarget[],
  entities: readonly DerivedEntity[],
): ReadonlyMap<number, RowsToRead> {
  const byShard = new Map<number, RowsToRead>()
  for (const entity of entities) {
    for (const target of targets) {
      for (const { shard } of expectedIn(entity, target)) {
        const asked = byShard.get(shard) ?? { entities: new Set(), targets: new Set() }
        byShard.set(shard, asked)
        asked.entities.add(entity)
        asked.targets.add(target)
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
  const found = await shardAt(pass.context, shard).rowsOf(
    targets.map(({ spec }) => spec),
    entities.map(({ id }) => id),
    { signal: pass.signal },
  )
  for (const [i, target] of targets.entries()) {
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
  const byEntity = new Map<string, IndexRow[]>()
  for (const row of rows) {
    const key = idKey(row.entityId)
    const group = byEntity.get(key)
    if (group === undefined) byEntity.set(key, [row])
    else group.push(row)
  }
  for (const entity of entities) {
    const expected = expectedIn(entity, target)
    const there = byEntity.size === 0 ? NONE : (byEntity.get(idKey(entity.id)) ?? NONE)
    // Of hundreds of indexes, most have nothing to do with an entity.
    if (expected.length === 0 && there.length === 0) continue
    const versions = new Map(there.map((row) => [keyIdentity(row.key), row.version]))
    for (const row of expected) {
      if (row.shard !== shard) continue
      const version = versions.get(row.identity)
      if (version === undefined) wrong.missing.push({ entity, target, row })
      else if (target.spec.covering && version < entity.version)
        wrong.outdated.push({ entity, target, row, outdated: true })
    }
    if (!everywhere) continue
    for (const row of there) {
      const place = placeOf(entity, target, shard, row)
      if (place !== 'right') {
        wrong.dangling.push({ entity, target, shard, row, misplaced: place === 'misplaced' })
      }
    }
  }
}

const NONE: readonly IndexRow[] = []

/** Whether a row is one of the entity's, and on its shard. */
export function placeOf(
  entity: DerivedEntity,
  target: IndexTarget,
  shard: number,
  row: IndexRow,
): 'right' | 'misplaced' | 'dangling' {
  const identity = keyIdentity(row.key)
  const own = expectedIn(entity, target).find((expected) => expected.identity === identity)
  if (own === undefined) return 'dangling'
  return own.shard === shard ? 'right' : 'misplaced'
}
