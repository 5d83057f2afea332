/** A process for tests: does one piece of work on a store of large entities, and prints its peak memory in MiB. */
import { randomBytes } from 'node:crypto'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore, type DataStoreOptions } from '@looseleaf/store'
import { sweep } from '../src/index.ts'
import { tunedCheckIndex, startTunedCleaner, tunedCleanIndex } from '../src/internal.ts'
import { LARGE_ENTITIES, LARGE_ENTITY_MIB } from './large-store-size.ts'

const byRank = defineIndex('by_rank', { properties: { group: 'integer', rank: 'integer' }, shardOn: 'group' })

const [workName, folder] = process.argv.slice(2) as [string, string]
const open = (options: Pick<DataStoreOptions, 'codec'> = {}): Promise<DataStore> =>
  DataStore.open({
    shards: sqliteShards({ folder, durability: 'normal' }),
    indexes: [byRank],
    migrate: true,
    queryTimeMs: 60_000,
    onWarning: () => undefined,
    ...options,
  })

const store = await open()

const work: Record<string, () => Promise<unknown>> = {
  nothing: async () => {},
  async fill() {
    const { codec } = store.context
    const bag = { group: 1, rank: 1, data: randomBytes(LARGE_ENTITY_MIB * 1024 * 1024) }
    // The bytes cannot be compressed, and trying takes most of the time, so the bag is encoded once.
    const body = codec.encode(bag)
    const filling = await open({ codec: { ...codec, encode: () => body } })
    for (let i = 0; i < LARGE_ENTITIES; i++) await filling.put(bag)
    await filling.close()
  },
  check: () => tunedCheckIndex(store, 'by_rank', { settleMs: 0 }),
  clean: () => tunedCleanIndex(store, 'by_rank', { restart: true, settleMs: 0 }),
  sweep: () => sweep(store),
  async follow() {
    const cleaner = startTunedCleaner(store, {
      intervalMs: 10,
      sweepEveryMs: 3_600_000,
      catalogMs: 3_600_000,
    })
    while (cleaner.status().totals.entities < LARGE_ENTITIES)
      await new Promise((resolve) => setTimeout(resolve, 10))
    await cleaner.stop()
  },
  async scan() {
    let count = 0
    for await (const entity of store.scan()) if (entity['data'] instanceof Uint8Array) count++
    if (count !== LARGE_ENTITIES) throw new Error(`There are ${count}.`)
  },
  async page() {
    const { items } = await store.query(byRank, { group: 1 }, { limit: 100 })
    if (items.length === 0) throw new Error('The page is empty.')
  },
  count: () => store.count(byRank, { group: 1 }, { exact: true }),
}

await work[workName]!()
await store.close()
process.stdout.write(String(Math.round(process.resourceUsage().maxRSS / 1024)))
