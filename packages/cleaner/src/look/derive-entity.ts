import type { Bag } from '@looseleaf/core'
import { isUndecodable, requireVersion, type EntityRow, type Key } from '@looseleaf/core/internal'
import {
  deriveEntryRows,
  includedBytes,
  keyIdentity,
  shardsOfRow,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { ROWS_IN_HAND } from '../tools/sizes.ts'

/** An index row that an entity should have on a shard. While a move is announced, it should have the row on two. */
export interface ExpectedRow {
  readonly shard: number
  readonly key: Key
  readonly identity: string
  /** Bytes of the included properties, for a covering index. */
  readonly included?: Uint8Array | null | undefined
}

/** An entity at the version that was read, with the index rows that it should have. */
export interface DerivedEntity {
  readonly id: Uint8Array
  /** 0 if there is neither an entity nor a tombstone. */
  readonly version: number
  /** Time of the write in microseconds since 1970; 0 if there is no row. */
  readonly updated: number
  /** Rows by index, without indexes in which the entity has none. Undefined if the row or its body cannot be decoded. */
  readonly expected: ReadonlyMap<IndexTarget, readonly ExpectedRow[]> | undefined
}

/**
 * Derives the index rows of an entity. A tombstone and an id without a row have none. The result keeps neither body nor bag, because many
 * entities are in memory at once.
 */
export async function deriveEntity(
  pass: Pass,
  targets: readonly IndexTarget[],
  id: Uint8Array,
  row: EntityRow | undefined,
): Promise<DerivedEntity> {
  pass.tally.entities++
  const read = { id, version: row?.version ?? 0, updated: row?.updated ?? 0 }
  const bag = row === undefined ? null : await decode(pass, id, row)
  if (bag === null) return { ...read, expected: new Map() }
  return { ...read, expected: bag && expectedRows(pass, targets, id, bag) }
}

/** Returns null for a tombstone. Returns undefined, and reports a problem, if the row cannot be decoded. */
async function decode(
  pass: Pass,
  id: Uint8Array,
  { version, body }: EntityRow,
): Promise<Bag | null | undefined> {
  const { bodies, catalog } = pass.context
  try {
    requireVersion(version)
    return body === null
      ? null
      : await bodies.decode(body, shardAt(pass.context, catalog.current().placement.shardOfId(id)).name)
  } catch (error) {
    if (!isUndecodable(error)) throw error
    pass.tally.undecodable++
    pass.report({ kind: 'undecodable', id, code: error.code, reason: error.message })
    return undefined
  }
}

function expectedRows(
  pass: Pass,
  targets: readonly IndexTarget[],
  id: Uint8Array,
  bag: Bag,
): ReadonlyMap<IndexTarget, readonly ExpectedRow[]> {
  const expected = new Map<IndexTarget, readonly ExpectedRow[]>()
  for (const target of targets) {
    const { keys, misfits } = deriveEntryRows(target.entry, bag)
    for (const { property, reason } of misfits) {
      pass.tallyOf(target).misfits++
      pass.report({ kind: 'misfit', id, index: target.entry.name, reason: `${property}: ${reason}` })
    }
    if (keys.length === 0) continue
    const rows = placed(pass.context, target, id, keys)
    const included = includedBytes(target.entry, bag, pass.context.codec)
    expected.set(target, included === undefined ? rows : rows.map((row) => ({ ...row, included })))
  }
  return expected
}

/** Returns the rows of these keys of an entity, one for each shard that they are written on. */
export function placed(
  { catalog }: EngineContext,
  { entry }: IndexTarget,
  id: Uint8Array,
  keys: readonly Key[],
): readonly ExpectedRow[] {
  const { placement } = catalog.current()
  return keys.flatMap((key) => {
    const identity = keyIdentity(key)
    return shardsOfRow(entry, placement, key, id).map((shard) => ({ key, identity, shard }))
  })
}

export function expectedIn(entity: DerivedEntity, target: IndexTarget): readonly ExpectedRow[] {
  return entity.expected?.get(target) ?? []
}

/** Derives entities that were read, in their order. */
export async function deriveAll(
  pass: Pass,
  targets: readonly IndexTarget[],
  rows: readonly EntityRow[],
): Promise<DerivedEntity[]> {
  const derived: DerivedEntity[] = []
  for (const row of rows) {
    await pass.throttle.rest(pass.signal)
    derived.push(await deriveEntity(pass, targets, row.id, row))
  }
  return derived
}

/** Derives entities in batches of about `ROWS_IN_HAND` index rows, to bound the memory. */
export async function* derivedBatches(
  pass: Pass,
  targets: readonly IndexTarget[],
  rows: Iterable<EntityRow>,
): AsyncGenerator<readonly DerivedEntity[], void, undefined> {
  let batch: DerivedEntity[] = []
  let weight = 0
  for (const row of rows) {
    await pass.throttle.rest(pass.signal)
    const entity = await deriveEntity(pass, targets, row.id, row)
    batch.push(entity)
    weight++
    for (const expected of entity.expected?.values() ?? []) weight += expected.length
    if (weight < ROWS_IN_HAND) continue
    yield batch
    batch = []
    weight = 0
  }
  if (batch.length > 0) yield batch
}
