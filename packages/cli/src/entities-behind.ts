import {
  compareKeyValues,
  type Bag,
  type CallOptions,
  type EntityId,
  type IndexDefinitionData,
} from '@looseleaf/core'
import { deriveRows } from '@looseleaf/index-engine'
import type { AnyKind } from '@looseleaf/kinds'
import type { DataStore } from '@looseleaf/store'
import { counted } from './text.ts'

/** Entities that have other rows in an index once they are upgraded, by the names of their kinds. */
export type EntitiesBehind = Readonly<Record<string, number>>

/**
 * Counts the entities that these indexes have with the values from before an upgrade or a default of their kind. Queries by the new values
 * miss them, and a unique index lets a second key in. Reads the whole store; nothing is read where no kind has the indexes.
 */
export async function entitiesBehind(
  store: DataStore,
  kinds: readonly AnyKind[],
  names: readonly string[],
  { signal }: CallOptions,
): Promise<EntitiesBehind> {
  const own = kinds
    .map(({ shape, indexes }) => ({ shape, indexes: indexes.filter(({ name }) => names.includes(name)) }))
    .filter(({ indexes }) => indexes.length > 0)
  const behind: Record<string, number> = {}
  if (own.length === 0) return behind
  // Damaged entities have no rows, and are told by others.
  for await (const entity of store.scan({ signal, onDamaged: () => {} })) {
    const kind = own.find(({ shape }) => shape.isOf(entity))
    if (kind === undefined || !kind.shape.isBehind(entity)) continue
    const { shape, indexes } = kind
    const { id, ...bag } = entity
    const upgraded = upgradedOf(shape, bag, id)
    if (upgraded === undefined || indexes.every((index) => hasSameRows(index, bag, upgraded))) continue
    behind[shape.name] = (behind[shape.name] ?? 0) + 1
  }
  return behind
}

/** Undefined for an entity that cannot be upgraded, which `looseleaf kind upgrade` lists. */
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
      `${counted(entities, 'entity', 'entities')} of kind ${kind} ${entities === 1 ? 'is' : 'are'} stored in an older shape or without a default, so the index has ${entities === 1 ? 'its' : 'their'} values from before. Run: looseleaf kind upgrade ${kind}`,
  )
}
