import type { Part } from './part.ts'
import { usual } from './usual.ts'

export const processes: Part = {
  description: 'the usual calls from one, two and four client processes',
  async run(bench) {
    const { processes: counts } = bench.scale
    const stage = { sides: bench.sidesOn('mariadb', 'postgres'), processes: Math.max(...counts) }
    await bench.onStage(stage, async (_, measure) => {
      for (const scenario of usual(bench, ['get', 'page', 'insert']))
        for (const count of counts) await measure(scenario, { processes: count })
    })
  },
}
