import type { Part } from './part.ts'
import { usual } from './usual.ts'

/** Multiple of the usual seconds: a queue that grows shows only after a while. */
const TIMES_LONGER = 3

export const rates: Part = {
  description: 'times of calls at fixed rates, from when each was due',
  async run(bench) {
    const { rates: perSecond, seconds } = bench.scale
    await bench.onStage({ sides: bench.sidesOn('mariadb', 'postgres') }, async (_, measure) => {
      for (const scenario of usual(bench, ['page', 'mixed']))
        for (const rate of perSecond) await measure(scenario, { rate, seconds: seconds * TIMES_LONGER })
    })
  },
}
