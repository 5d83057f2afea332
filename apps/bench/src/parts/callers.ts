import type { Part } from './part.ts'
import { usual } from './usual.ts'

export const callers: Part = {
  description: 'the usual calls with fewer and with more callers',
  async run(bench) {
    await bench.onStage({ sides: bench.sidesOn('mariadb', 'postgres') }, async (_, measure) => {
      for (const scenario of usual(bench))
        for (const count of bench.scale.callers) await measure(scenario, { callers: count })
    })
  },
}
