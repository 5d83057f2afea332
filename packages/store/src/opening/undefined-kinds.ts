import { KIND_PROPERTY, type IndexDefinitionData } from '@looseleaf/core'
import { valuesIn, type EngineContext } from '@looseleaf/index-engine'

/**
 * A warning where a kind seems to have another name in this program than in the store: the program has indexes of a kind that no
 * ready index of the store is of, and the store has some of a kind that no index of the program is of. A program that uses some kinds
 * of a store only brings no new one along, so it is not warned. Goes by the catalog: kinds without indexes are not seen.
 */
export function undefinedKinds(
  { catalog }: EngineContext,
  definitions: readonly IndexDefinitionData[],
): readonly string[] {
  const ready = catalog.current().indexes.filter(({ state }) => state === 'ready')
  const stored = kindsOf(ready)
  const defined = kindsOf(definitions)
  const fresh = [...defined].filter((kind) => !stored.has(kind))
  const missing = [...stored].filter((kind) => !defined.has(kind))
  if (fresh.length === 0 || missing.length === 0) return []
  return [
    `The store has indexes of the kind ${missing.join(', ')}, which this program does not define, and none yet that is ready of the kind ${fresh.join(', ')}, which it does. If a kind was renamed, give its old name to defineKind, such as \`formerly: ['${missing[0]}']\`: its entities are not found otherwise. If not, this ends when the new indexes are filled.`,
  ]
}

function kindsOf(definitions: readonly IndexDefinitionData[]): ReadonlySet<unknown> {
  return new Set(definitions.flatMap(({ on }) => valuesIn(on?.[KIND_PROPERTY] ?? [])))
}
