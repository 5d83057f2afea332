import type { Bag, CallOptions, EntityId, IndexDefinitionData } from '@looseleaf/core'
import { counted, compareKeyValues } from '@looseleaf/core/internal'
import { deriveRows } from '@looseleaf/index-engine/internal'
import type { AnyKind } from '@looseleaf/kinds'
import type { DataStore } from '@looseleaf/store'

/** Counts of entities whose index rows change when they are upgraded, by the name of their kind. */
export type EntitiesBehind = Readonly<Record<string, number>>

/**
 * Counts the entities whose rows in these indexes hold values from before an upgrade or a default of their kind. Queries by
 * the new values miss these entities, and a unique index accepts their new keys twice. Reads the whole store, or nothing
 * when no kind has one of the indexes.
 */
export async function entitiesBehind(
  store: DataStore,
  kinds: readonly AnyKind[],
  names: readonly string[],
  { signal }: CallOptions,
): Promise<EntitiesBehind> {
  const affected = kinds
    .map(({ shape, indexes }) => ({ shape, indexes: indexes.filter(({ name }) => names.includes(name)) }))
    .filter(({ indexes }) => indexes.length > 0)
  const behind: Record<string, number> = {}
  if (affected.length === 0) return behind
  // Damaged entities have no rows, and `looseleaf damaged` lists them.
  for await (const entity of store.scan({ signal, onDamaged: () => {} })) {
    const kind = affected.find(({ shape }) => shape.isOf(entity))
    if (kind === undefined || !kind.shape.isBehind(entity)) continue
    const { shape, indexes } = kind
    const { id, ...bag } = entity
    const upgraded = upgradedOf(shape, bag, id)
    if (upgraded === undefined || indexes.every((index) => hasSameRows(index, bag, upgraded))) continue
    behind[shape.name] = (behind[shape.name] ?? 0) + 1
  }
  return behind
}

/** Returns the upgraded bag; undefined if the upgrade fails. `looseleaf kind upgrade` lists such entities. */
function upgradedOf(shape: AnyKind['shape'], bag: Bag, id: EntityId): Bag | undefined {
  try {
    return shape.upgraded(bag, id)
  } catch {
    return undefined
  }
}

function hasSameRows(index: IndexDefinitionData, a: Bag, b: Bag): boolean {
  const [before, after] = [deriveRows(index, a).keys, deriveRows(index, b).keys]
  return (
    before.length === after.length &&
    before.every((key, row) => key.every((value, i) => compareKeyValues(value, after[row]![i]!) === 0))
  )
}

export function behindText(behind: EntitiesBehind): readonly string[] {
  return Object.entries(behind).map(
    ([kind, entities]) =>
      `${counted(entities, 'entity', 'entities')} of kind ${kind} ${entities === 1 ? 'is' : 'are'} stored in an older shape or without a default. Queries by the new values miss ${entities === 1 ? 'it' : 'them'} until you run: looseleaf kind upgrade ${kind}`,
  )
}
