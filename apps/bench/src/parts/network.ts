import { startNetwork } from '../network/network.ts'
import type { Part } from './part.ts'
import { usual } from './usual.ts'

/** Milliseconds each way, as between two machines of one data centre. */
const DELAY_MS = 0.5

export const network: Part = {
  description: `the usual calls with ${DELAY_MS} ms of network each way`,
  async run(bench) {
    const { route, close } = startNetwork(DELAY_MS)
    const stage = { sides: bench.sidesOn('mariadb', 'postgres'), route, networkMs: DELAY_MS }
    try {
      await bench.onStage(stage, async (_, measure) => {
        for (const scenario of usual(bench))
          for (const callers of [1, 64]) await measure(scenario, { callers })
      })
    } finally {
      await close()
    }
  },
}
