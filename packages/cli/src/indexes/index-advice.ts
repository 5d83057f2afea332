import type { IndexDefinitionData } from '@looseleaf/core'
import { isInUse, isPaused } from '@looseleaf/index-engine/internal'
import { isReady, neededGeneration, newerThan, type Generation } from './index-generations.ts'

/** Returns advice about a store's indexes, one sentence each. Only the operator knows which processes run and query them. */
export function indexAdvice(
  generations: readonly Generation[],
  definitions: readonly IndexDefinitionData[],
): string[] {
  const advice: string[] = []
  for (const [name, group] of Map.groupBy(generations, ({ rows }) => rows.name)) {
    const needed = neededGeneration(group, definitions)
    const isFromConfig = definitions.some((definition) => definition.name === name)
    for (const { rows, claims } of group) {
      const { generation } = rows
      const which = group.length === 1 ? name : `${name} --generation ${generation}`
      const called = group.length === 1 ? `Index ${name}` : `Index ${name}, generation ${generation},`
      if (!isInUse(rows)) {
        advice.push(`${called} is half dropped. Finish with: looseleaf index drop ${which}`)
      } else if (rows.hidden) {
        advice.push(
          `${called} is hidden. Bring it back with: looseleaf index restore ${which}, or drop it: looseleaf index drop ${which}`,
        )
      } else if (isPaused(rows) || (claims !== undefined && isPaused(claims))) {
        advice.push(`${called} is paused. Continue its filling with: looseleaf index resume ${which}`)
      } else if (needed !== undefined && needed.rows !== rows && isReady(needed)) {
        if (newerThan(needed, [{ rows, claims }]) !== undefined) {
          advice.push(
            `${called} is newer than the generation of this config, which may be outdated. To go back when no process queries it, run: looseleaf index swap ${name} --generation ${needed.rows.generation}`,
          )
          continue
        }
        const reason = isFromConfig
          ? 'is no longer needed by this config'
          : 'has a newer generation beside it'
        advice.push(`${called} ${reason}. When no process queries it, run: looseleaf index swap ${name}`)
      }
    }
  }
  return advice
}
