import { isQueue, layoutNames } from '../workload/indexes.ts'
import type { ScenarioName } from '../workload/scenarios.ts'
import type { Part } from './part.ts'

/** Scenarios that are also measured with one caller. */
const ONE_CALLER: readonly ScenarioName[] = [
  'insert',
  'put',
  'update',
  'get',
  'getMany',
  'page',
  'list',
  'listUnverified',
  'nearPage',
  'nearInsert',
  'nearList',
]

export const calls: Part = {
  description: 'every scenario with 64 callers, and the usual ones with one',
  async run(bench) {
    for (const layout of layoutNames) {
      const scenarios = bench.scenariosOf(layout)
      if (scenarios.length === 0) continue
      await bench.onStage({ sides: bench.sidesOn('mariadb', 'postgres'), layout }, async (_, measure) => {
        for (const scenario of scenarios) {
          await measure(scenario)
          if (ONE_CALLER.includes(scenario)) await measure(scenario, { callers: 1 })
          // Fewer workers with a batch each suit row locks best.
          if (isQueue(layout)) await measure(scenario, { callers: 8 })
        }
      })
    }
  },
}
