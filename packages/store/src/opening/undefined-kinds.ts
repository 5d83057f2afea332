import type { IndexDefinitionData } from '@looseleaf/core'
import { KIND_PROPERTY } from '@looseleaf/core/internal'
import { valuesIn, type EngineContext } from '@looseleaf/index-engine/internal'

/**
 * Warns if a kind seems to have been renamed: the program has indexes of a kind without a ready index in the store, and the store has ready
 * indexes of a kind that the program lacks. A program that uses only some kinds of the store has no new kind, so it gets no warning. Sees
 * only kinds with indexes, because it reads the catalog alone.
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
    `The store has indexes of the kind ${missing.join(', ')}, which this program does not define, and no ready index of the kind ${fresh.join(', ')}, which it defines. If a kind was renamed, give its old name to defineKind, such as \`formerly: ['${missing[0]}']\`; otherwise its entities are not found. If none was, this warning ends when the new indexes are filled.`,
  ]
}

function kindsOf(definitions: readonly IndexDefinitionData[]): ReadonlySet<unknown> {
  return new Set(definitions.flatMap(({ on }) => valuesIn(on?.[KIND_PROPERTY] ?? [])))
}
