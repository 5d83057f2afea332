import type { IndexDefinitionData } from '@looseleaf/core'
import { badOption, badArgument, isRecord } from '@looseleaf/core/internal'
import { MAX_CONDITIONS, requireDefinition } from '@looseleaf/index-engine/internal'

const MAX_WHERES = 1_000
const EXPECTED = `an array of 1 to ${MAX_CONDITIONS} conditions, each { index, where }`

/** Copies the conditions of an intersection. Throws `BAD_OPTION` and `BAD_INDEX`. The query checks each `where` later. */
export function takeConditions(
  conditions: unknown,
): readonly { readonly index: IndexDefinitionData; readonly where: object }[] {
  if (!Array.isArray(conditions)) throw badArgument('intersect', EXPECTED, conditions)
  const { length } = conditions
  if (length < 1 || length > MAX_CONDITIONS) {
    throw badOption(`intersect takes 1 to ${MAX_CONDITIONS} conditions; got ${length}.`)
  }
  return Array.from(conditions as unknown[], (condition) => {
    if (!isRecord(condition)) throw badArgument('intersect', EXPECTED, condition)
    const { index, where, ...others } = condition
    requireDefinition('intersect', index)
    const [other] = Object.keys(others)
    if (other !== undefined) {
      throw badOption(
        `A condition of intersect is { index, where }, and has no "${other}"; options of the page come after the conditions.`,
      )
    }
    return { index, where: where as object }
  })
}

/** Copies the conditions of a call that takes many. Throws `BAD_OPTION`. The query checks each `where` later. */
export function takeWheres(call: string, wheres: unknown): readonly object[] {
  if (!Array.isArray(wheres)) throw badArgument(call, 'an array of conditions', wheres)
  if (wheres.length > MAX_WHERES) {
    throw badOption(`${call} takes ${MAX_WHERES} conditions at the most; got ${wheres.length}.`)
  }
  return Array.from(wheres as object[])
}
