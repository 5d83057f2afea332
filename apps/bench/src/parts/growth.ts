import type { Part } from './part.ts'
import { usual } from './usual.ts'

export const entities: Part = {
  description: 'gets and pages as the data grow',
  async run(bench) {
    for (const entries of bench.scale.growth)
      await bench.onStage({ sides: bench.sidesOn('mariadb'), entries }, async (_, measure) => {
        for (const scenario of usual(bench, ['get', 'page', 'insert'])) await measure(scenario)
      })
  },
}

export const shards: Part = {
  description: 'the usual calls as shards are added, all on this machine',
  async run(bench) {
    for (const count of bench.scale.growthShards)
      await bench.onStage({ sides: bench.sidesOn('mariadb'), shards: count }, async (_, measure) => {
        for (const scenario of usual(bench, ['get', 'page', 'insert'])) await measure(scenario)
      })
  },
}

export const indexes: Part = {
  description: 'inserts and updates as indexes are added',
  async run(bench) {
    for (const layout of bench.scale.growthIndexes)
      await bench.onStage({ sides: bench.sidesOn('mariadb', 'postgres'), layout }, async (_, measure) => {
        for (const scenario of usual(bench, ['insert', 'update'])) await measure(scenario)
      })
  },
}
