/** Run by a test as a process of its own, on a folder: does one thing with a store of large entities, tells how much memory it took. */
import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { checkIndex, cleanIndex, startCleaner, sweep } from '../src/index.ts'

const COUNT = 40
const BYTES = 6 * 1024 * 1024

const byRank = defineIndex('by_rank', { properties: { group: 'integer', rank: 'integer' }, shardOn: 'group' })

const [what, folder] = process.argv.slice(2) as [string, string]
// Garbage is collected when there is some, so that what was let go does not count as held for long.
setFlagsFromString('--max-semi-space-size=4')

const store = await DataStore.open({
  shards: sqliteShards({ folder, durability: 'normal' }),
  indexes: [byRank],
  migrate: true,
  queryTimeMs: 60_000,
})

const work: Record<string, () => Promise<unknown>> = {
  nothing: async () => {},
  async fill() {
    for (let rank = 0; rank < COUNT; rank++)
      await store.put({ group: 1, rank, data: randomBytes(BYTES) })
  },
  check: () => checkIndex(store, 'by_rank', { settleMs: 0 }),
  clean: () => cleanIndex(store, 'by_rank', { restart: true, settleMs: 0 }),
  sweep: () => sweep(store),
  async follow() {
    const cleaner = startCleaner(store, { intervalMs: 10, sweepEveryMs: 3_600_000, catalogMs: 3_600_000 })
    while (cleaner.status().totals.entities < COUNT) await new Promise((resolve) => setTimeout(resolve, 10))
    await cleaner.stop()
  },
  async scan() {
    let count = 0
    for await (const entity of store.scan()) if (entity['data'] instanceof Uint8Array) count++
    if (count !== COUNT) throw new Error(`There are ${count}.`)
  },
  async page() {
    const { items } = await store.query(byRank, { group: 1 }, { limit: 100 })
    if (items.length === 0) throw new Error('The page is empty.')
  },
  count: () => store.count(byRank, { group: 1 }, { exact: true }),
}

await work[what]!()
await store.close()
process.stdout.write(String(Math.round(process.resourceUsage().maxRSS / 1024)))
