import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity } from './bench.ts'
import { hasHaproxy, startHaproxy } from './haproxy.ts'
import { startSessionPooler } from './session-pooler.ts'

const bench = await freshBench()
const POOL = 4

interface Between {
  readonly url: string
  close(): Promise<void>
}

const kinds: Readonly<
  Record<string, { readonly start: () => Promise<Between>; readonly isThere?: boolean }>
> = {
  'a TCP proxy': {
    start: async () => {
      const { url } = await bench.behindProxy()
      return { url, close: async () => {} }
    },
  },
  [`HAProxy${hasHaproxy ? '' : ' (left out: needs the program haproxy)'}`]: {
    start: () => startHaproxy(bench.url),
    isThere: hasHaproxy,
  },
  'a pooler that keeps one session per connection': {
    start: () => startSessionPooler(bench.url, { sessions: 2 * POOL, setUp: "SET SESSION sql_mode = ''" }),
  },
}

describe.each(Object.entries(kinds))('behind %s', (_, { start, isThere = true }) => {
  test.skipIf(!isThere)('several processes write and read through a proxy', async () => {
    await bench.migrate()
    const between = await start()
    cleanUp(() => between.close())
    const shards = await Promise.all(
      [1, 2].map(async () => (await bench.connect({ poolSize: POOL }, between.url)).shard),
    )
    const contested = [newEntity(), newEntity()]
    await shards[0]?.entities.insert(contested, { epoch })
    const ids = contested.map(({ id }) => id)
    const table = `index_${randomUUID()}`
    const wins = await Promise.all(
      shards.flatMap((shard) =>
        Array.from({ length: POOL }, async (_, writer) => {
          let won = 0
          for (let round = 0; round < 20; round++) {
            const entity = { ...newEntity(), body: Buffer.alloc(writer === 0 ? 70_000 : 100, 'x') }
            const deferred = round % 4 === 0 ? [table] : []
            await shard.entities.insert([{ ...entity, deferred }, newEntity()], { epoch })
            expect(await shard.entities.read([entity.id])).toMatchObject([{ version: 1, body: entity.body }])
            await expect(shard.entities.insert([newEntity()], { epoch: epoch + 1 })).rejects.toMatchObject({
              code: 'STALE_EPOCH',
            })
            const bases = await shard.entities.readVersions(ids)
            const swaps = contested.map((row, i) => ({
              ...row,
              base: Number(bases[i]),
              version: Number(bases[i]) + 1,
            }))
            won += (await shard.entities.replace(swaps, { epoch })).filter(Boolean).length
          }
          return won
        }),
      ),
    )
    const versions = await shards[0]?.entities.readVersions(ids)
    // Each entity was inserted with version 1, and every swap that won has added 1.
    expect(versions?.reduce<number>((sum, version) => sum + Number(version) - 1, 0)).toBe(
      wins.reduce((sum, won) => sum + won, 0),
    )
    const pending = await shards[0]?.pending.page({ limit: 1_000 })
    expect(pending?.filter((row) => row.table === table)).toHaveLength(2 * POOL * 5)
  })
})
