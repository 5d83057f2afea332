import { DataStore, sweep } from 'looseleaf'
import { indexesOf } from '../workload/indexes.ts'
import { noUsage, usagePerCall } from '../measure/usage.ts'
import { shardsOf } from '../sides/looseleaf-side.ts'
import type { Part } from './part.ts'

export const sweeping: Part = {
  description: 'a pass of the cleaner over all entities and all rows',
  async run(bench) {
    const sides = bench.sidesOn('mariadb').filter(({ name }) => name === 'looseleaf')
    if (sides.length === 0) return
    const entries = bench.scale.build
    await bench.onStage({ sides, entries }, async (stage) => {
      const store = await DataStore.open({
        shards: shardsOf('mariadb', stage.databasesOf('looseleaf')),
        indexes: indexesOf('entries').map(({ definition }) => definition),
      })
      try {
        bench.progress(`a sweep over ${entries} entries`)
        const server = await bench.serverOf('mariadb')
        const before = (await server.meter?.read()) ?? noUsage
        const [cpu, start] = [process.cpuUsage(), performance.now()]
        await sweep(store, { graceMs: 0 })
        const seconds = (performance.now() - start) / 1000
        const { user, system } = process.cpuUsage(cpu)
        bench.addWork({
          scenario: 'sweep',
          side: 'looseleaf',
          entities: entries,
          seconds,
          clientCpuUs: (user + system) / entries,
          server: usagePerCall(before, (await server.meter?.read()) ?? noUsage, entries),
        })
      } finally {
        await store.close()
      }
    })
  },
}
