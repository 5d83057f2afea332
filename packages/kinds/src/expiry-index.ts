import { isRecord, KIND_PROPERTY, type IndexPredicate } from '@looseleaf/core'
import { defineIndex, type IndexDefinition } from '@looseleaf/index-engine'
import type { Shape } from './shape.ts'

type Names = Shape['names']

/** The index by which cleaners find the entities of a kind that have expired. */
export function expiryIndex(names: Names, expires: string): IndexDefinition {
  return defineIndex(`${names[0]}_expires`, {
    properties: { [expires]: 'time' },
    shardOn: 'id',
    on: ofKind(names),
    expires,
  })
}

/** Only entities that are stored under one of these names. */
export function ofKind(names: Names): IndexPredicate {
  return { [KIND_PROPERTY]: names.length === 1 ? names[0] : names }
}

/** The same `include` with the time, so that a list from rows leaves out what has expired. Rows have their own properties anyway. */
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

/** The property that `withTime` has added to what the program includes. */
export function addedInclude(
  { include = [] }: IndexDefinition,
  given: readonly string[] = [],
): string | undefined {
  return include.find((path) => !given.includes(path))
}
