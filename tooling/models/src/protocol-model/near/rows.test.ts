import { isLong } from '@looseleaf-tooling/vitest/long'
import { describe, expect, it } from 'vitest'
import { intersectionSituations } from './intersection-situations.ts'
import { moveSituations } from './move-situations.ts'
import { pageSituations } from './page-situations.ts'
import { allNearGuards, type NearGuards } from './row-guards.ts'
import type { AtOnceRule } from './row-world.ts'
import { checkNear, type NearSituation, type NearSituations } from './situation.ts'
import { writeSituations } from './write-situations.ts'

const situations: NearSituations = {
  ...pageSituations,
  ...intersectionSituations,
  ...writeSituations,
  ...moveSituations,
}
/** A short run leaves out the states of large situations, and tries all guards. */
const isExplored = ({ isLarge }: NearSituation): boolean => isLong || isLarge !== true
const tried = Object.entries(situations).filter(
  ([, situation]) => isExplored(situation) || situation.guards.length > 0,
)
const rules: readonly AtOnceRule[] = isLong ? ['near', 'local', 'one shard'] : ['near']

describe.each(rules)('rows go at once by the rule "%s"', (rule) => {
  describe.each(tried)('%s', (_, situation) => {
    if (isExplored(situation))
      it(
        'a query finds an entity that matches all the time, and no row is missing',
        { timeout: 600_000 },
        () => {
          const { violation, states } = checkNear(situation, rule, allNearGuards)
          expect(violation).toBeUndefined()
          expect(states).toBeGreaterThan(30)
        },
      )

    const { guards, localGuards = [] } = situation
    it.each(rule === 'near' ? guards : [...guards, ...localGuards])(
      'the promise breaks without the guard %s',
      { timeout: 600_000 },
      (guard) => {
        expect(checkNear(situation, rule, { ...allNearGuards, [guard]: false }).violation).toBeDefined()
      },
    )
  })
})

it('some situation needs each guard of the local rows', () => {
  const tested = new Set(
    Object.values(situations).flatMap(({ guards, localGuards = [] }) => [...guards, ...localGuards]),
  )
  expect(Object.keys(allNearGuards).filter((guard) => !tested.has(guard as keyof NearGuards))).toEqual([])
})
