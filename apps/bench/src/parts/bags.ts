import type { Part } from './part.ts'
import { usual } from './usual.ts'

export const bags: Part = {
  description: 'the usual calls with small and large bags',
  async run(bench) {
    for (const bag of bench.scale.bags)
      await bench.onStage({ sides: bench.sidesOn('mariadb', 'postgres'), bag }, async (_, measure) => {
        for (const scenario of usual(bench, ['get', 'page', 'insert'])) await measure(scenario)
      })
  },
}
