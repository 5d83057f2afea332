import type { IndexDefinitionData } from '@looseleaf/core'
import { isInUse, isPaused } from '@looseleaf/index-engine'
import { isReady, neededOf, newerThan, type Generation } from './index-generations.ts'

/** What an operator may want to do about the indexes of a store, a sentence each: nobody else knows who runs. */
export function indexAdvice(
  generations: readonly Generation[],
  definitions: readonly IndexDefinitionData[],
): string[] {
  const advice: string[] = []
  for (const [name, own] of Map.groupBy(generations, ({ rows }) => rows.name)) {
    const needed = neededOf(own, definitions)
    const isOfConfig = definitions.some((definition) => definition.name === name)
    for (const { rows, claims } of own) {
      const { generation } = rows
      const which = own.length === 1 ? name : `${name} --generation ${generation}`
      const called = own.length === 1 ? `Index ${name}` : `Index ${name}, generation ${generation},`
      if (!isInUse(rows)) {
        advice.push(`${called} is half dropped. Finish with: looseleaf index drop ${which}`)
      } else if (rows.hidden) {
        advice.push(
          `${called} is hidden. Bring it back with: looseleaf index restore ${which}, or drop it: looseleaf index drop ${which}`,
        )
      } else if (isPaused(rows) || (claims !== undefined && isPaused(claims))) {
        advice.push(`${called} is paused. Go on filling it with: looseleaf index resume ${which}`)
      } else if (needed !== undefined && needed.rows !== rows && isReady(needed)) {
        if (newerThan(needed, [{ rows, claims }]) !== undefined) {
          advice.push(
            `${called} is newer than the one of this config, which may be old. To go back, when no process queries it: looseleaf index swap ${name} --generation ${needed.rows.generation}`,
          )
          continue
        }
        const why = isOfConfig ? 'is not needed by this config any more' : 'has a newer one beside it'
        advice.push(`${called} ${why}. When no process queries it: looseleaf index swap ${name}`)
      }
    }
  }
  return advice
}
