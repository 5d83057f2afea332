import type { Part } from './part.ts'
import { usual } from './usual.ts'

export const sqlite: Part = {
  description: 'the usual calls on SQLite, with 64 callers and with one',
  async run(bench) {
    await bench.onStage({ sides: bench.sidesOn('sqlite') }, async (_, measure) => {
      for (const scenario of usual(bench, [
        'get',
        'getMany',
        'page',
        'count',
        'insert',
        'put',
        'update',
        'delete',
      ]))
        for (const callers of [64, 1]) await measure(scenario, { callers })
    })
  },
}
