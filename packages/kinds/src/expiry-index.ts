import { isRecord, KIND_PROPERTY, type IndexPredicate } from '@looseleaf/core/internal'
import { defineIndex, type IndexDefinition } from '@looseleaf/index-engine'
import type { Shape } from './shape.ts'

type Names = Shape['names']

/** Returns the index by which cleaners find expired entities of a kind. */
export function expiryIndex(names: Names, expires: string): IndexDefinition {
  return defineIndex(`${names[0]}_expires`, {
    properties: { [expires]: 'time' },
    shardOn: 'id',
    on: ofKind(names),
    expires,
  })
}

/** Returns the `on` of entities that are stored under one of these names. */
export function ofKind(names: Names): IndexPredicate {
  return { [KIND_PROPERTY]: names.length === 1 ? names[0] : names }
}

/** Adds the time to `include`, so that a list can leave out expired entities. An indexed time is in the rows already. */
export function withTime(
  include: readonly string[] | undefined,
  properties: Readonly<Record<string, unknown>>,
  expires: string,
): { readonly include?: readonly string[] } {
  if (!Array.isArray(include)) return {}
  const isIndexed = Object.entries(properties).some(
    ([name, spec]) => (isRecord(spec) ? (spec['of'] ?? name) : name) === expires,
  )
  return isIndexed ? {} : { include: [...new Set([...(include as readonly string[]), expires])] }
}

/** Returns the property that `withTime` has added to the program's `include`. */
export function addedInclude(
  { include = [] }: IndexDefinition,
  ofProgram: readonly string[] = [],
): string | undefined {
  return include.find((path) => !ofProgram.includes(path))
}
