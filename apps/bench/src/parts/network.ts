import { startNetwork } from '../network/network.ts'
import { layoutNames } from '../workload/indexes.ts'
import { nearScenarios } from '../workload/scenarios.ts'
import type { Part } from './part.ts'
import { usual } from './usual.ts'

/** Milliseconds each way, as between two machines of one data centre. */
const DELAY_MS = 0.5

export const network: Part = {
  description: `the usual calls, and those of entities near their rows, with ${DELAY_MS} ms of network each way`,
  async run(bench) {
    const { route, close } = startNetwork(DELAY_MS)
    const stage = { sides: bench.sidesOn('mariadb', 'postgres'), route, networkMs: DELAY_MS }
    try {
      for (const layout of layoutNames) {
        const near = bench.scenariosOf(layout).filter((name) => nearScenarios.includes(name))
        const scenarios = layout === 'entries' ? usual(bench) : near
        if (scenarios.length === 0) continue
        await bench.onStage({ ...stage, layout }, async (_, measure) => {
          for (const scenario of scenarios)
            for (const callers of [1, 64]) await measure(scenario, { callers })
        })
      }
    } finally {
      await close()
    }
  },
}
