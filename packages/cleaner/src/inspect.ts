import type { IndexRow } from '@looseleaf/core'
import { keyIdentity } from '@looseleaf/index-engine'
import { chunks } from './chunks.ts'
import { expectedIn, type DerivedEntity, type ExpectedRow } from './derive-entity.ts'
import { idKey } from './id-key.ts'
import { tableOn, type IndexTarget } from './index-target.ts'
import type { Pass } from './pass.ts'

export interface MissingRow {
  readonly entity: DerivedEntity
  readonly target: IndexTarget
  readonly row: ExpectedRow
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
export interface Findings {
  readonly missing: MissingRow[]
  readonly dangling: DanglingRow[]
}

/** Ids per look-up of rows: an entity may have a thousand of them. */
const IDS_PER_LOOK = 128

/**
 * Looks up the rows of entities that were just read, and compares. `everywhere` asks every shard, and so finds all
 * dangling rows of these entities; otherwise only the shards on which a row is expected are asked, and only missing
 * rows are found. An entity whose body cannot be decoded is passed over: nobody knows which rows are its own.
 *
 * The entities have been read before the rows. A writer adds rows before it commits, so a row of the version that was
 * read is there unless a later version has lost it; whoever acts on `missing` has to read the version once more.
 */
export async function inspect(
  pass: Pass,
  targets: readonly IndexTarget[],
  entities: readonly DerivedEntity[],
  { everywhere }: { readonly everywhere: boolean },
): Promise<Findings> {
  const findings: Findings = { missing: [], dangling: [] }
  const known = entities.filter(({ expected }) => expected !== undefined)
  await Promise.all(
    targets.flatMap((target) =>
      target.tables.map((_, shard) => inspectTable(pass, target, shard, known, everywhere, findings)),
    ),
  )
  return findings
}

async function inspectTable(
  pass: Pass,
  target: IndexTarget,
  shard: number,
  entities: readonly DerivedEntity[],
  everywhere: boolean,
  findings: Findings,
): Promise<void> {
  const asked = everywhere
    ? entities
    : entities.filter((entity) => expectedIn(entity, target).some((row) => row.shard === shard))
  for (const chunk of chunks(asked, IDS_PER_LOOK)) {
    const rows = await tableOn(target, shard).rowsOf(
      chunk.map(({ id }) => id),
      { signal: pass.signal },
    )
    pass.tally.rows += rows.length
    compare(target, shard, chunk, rows, everywhere, findings)
  }
}

function compare(
  target: IndexTarget,
  shard: number,
  entities: readonly DerivedEntity[],
  rows: readonly IndexRow[],
  everywhere: boolean,
  findings: Findings,
): void {
  const byEntity = new Map<string, IndexRow[]>()
  for (const row of rows) {
    const key = idKey(row.entityId)
    const group = byEntity.get(key)
    if (group === undefined) byEntity.set(key, [row])
    else group.push(row)
  }
  for (const entity of entities) {
    const there = byEntity.get(idKey(entity.id)) ?? []
    const identities = new Set(there.map((row) => keyIdentity(row.key)))
    for (const row of expectedIn(entity, target)) {
      if (row.shard === shard && !identities.has(row.identity)) findings.missing.push({ entity, target, row })
    }
    if (!everywhere) continue
    for (const row of there) {
      const place = placeOf(entity, target, shard, row)
      if (place !== 'right') {
        findings.dangling.push({ entity, target, shard, row, misplaced: place === 'misplaced' })
      }
    }
  }
}

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
