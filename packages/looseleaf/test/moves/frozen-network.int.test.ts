import { parseId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { moveBuckets, movesOf, resumeMoves } from '@looseleaf/mover/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { through } from '@looseleaf-tooling/kit/changed-driver'
import { fastTime, until } from '@looseleaf-tooling/kit/times'
import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { recreateDatabase } from '@looseleaf-tooling/vitest/limited-user'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { startTcpProxy, type Silence } from '../../../driver-mysql/test/tcp-proxy.ts'
import { checkSwept, contentsOf, fill, indexes, SOME_BUCKETS } from './stores.ts'

const TUNING = { groups: 2, leaseMs: 1 }
const time = fastTime(10)

let servers: RunningServers
beforeAll(async () => {
  servers = await startServers(2, { database: 'store', inMemory: true })
})
afterAll(() => servers?.stop())
beforeEach(async () => {
  for (const url of servers.urls) await recreateDatabase(url)
})

const open = (urls: readonly string[], plan: FaultPlan = () => undefined): Promise<DataStore> =>
  DataStore.open({
    shards: through(mysqlShards(urls, { deadlineMs: 2_000, connectTimeoutMs: 500 }), (driver) =>
      faultyDriver(driver, plan),
    ),
    indexes,
    migrate: true,
    time,
    onWarning: () => {},
  })

/** Silences of the network of a mover, or of all processes, and a shard, from one of the mover's calls under the seal on. */
const SILENCES: readonly (readonly [whose: 'a mover' | 'all', call: string, shard: number, lost: Silence])[] =
  [
    ['a mover', 'giving the buckets up', 0, 'to-client'],
    ['a mover', 'sending the last copy', 1, 'to-server'],
    ['all', 'reading the last changes', 0, 'both'],
    ...(isLong
      ? ([
          ['a mover', 'reading the last changes', 0, 'both'],
          ['a mover', 'giving the buckets up', 0, 'to-server'],
          ['a mover', 'sending the last copy', 1, 'to-client'],
          ['a mover', 'beginning at the target', 1, 'to-server'],
          ['a mover', 'beginning at the target', 1, 'to-client'],
          ['all', 'giving the buckets up', 0, 'to-client'],
          ['all', 'sending the last copy', 1, 'to-server'],
          ['all', 'beginning at the target', 1, 'both'],
        ] as const)
      : []),
  ]

function callOf(shard: number, operation: string, catalog: Partial<ShardCatalog>): string | undefined {
  const { away, arrived } = catalog.serves ?? {}
  if (shard === 0 && operation === 'pageOfChanges') return 'reading the last changes'
  if (shard === 1 && operation === 'receive') return 'sending the last copy'
  if (operation !== 'change') return undefined
  if (shard === 0 && away !== undefined) return 'giving the buckets up'
  return shard === 1 && arrived !== undefined ? 'beginning at the target' : undefined
}

function expectRetryable(error: unknown): void {
  expect(error).toMatchObject({ retryable: true })
}

test.each(SILENCES)(
  'writes end, or are retryable, while the network of %s loses every byte from a call under the seal on (%s, shard %i, %s), and the move ends when it is back',
  async (whose, call, shard, lost) => {
    const proxies = await Promise.all(servers.urls.map((url) => startTcpProxy(Number(new URL(url).port))))
    onTestFinished(async () => {
      await Promise.all(proxies.map((proxy) => proxy.close()))
    })
    const proxied = servers.urls.map((url, i) => Object.assign(new URL(url), { port: proxies[i]!.port }).href)
    await using writer = await open(whose === 'all' ? proxied : servers.urls)
    await fill(writer, 60)
    const isMoving = entitiesIn(writer.context, SOME_BUCKETS)
    const ids = [...(await contentsOf(writer)).keys()]
    expect(ids.some((id) => isMoving(parseId(id)))).toBe(true)
    const update = async (rank: number): Promise<void> => {
      await Promise.all(ids.map((id) => writer.update(id, (bag) => ({ ...bag, rank }))))
    }

    let isSealed = false
    let isSilent = false
    await using mover = await open(proxied, ({ shard: asked, operation, args: [catalog] }) => {
      const { serves } = (operation === 'change' ? catalog : {}) as Partial<ShardCatalog>
      if (!isSealed && serves?.leaving?.some(({ sealed }) => sealed !== undefined)) {
        isSealed = true
        // The last copy has something to do then.
        return { before: () => update(899) }
      }
      const isIt = isSealed && !isSilent && callOf(asked, operation, { serves }) === call
      if (!isIt) return undefined
      return {
        before() {
          proxies[shard]!.silence = lost
          isSilent = true
        },
      }
    })
    const moving = moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS }, TUNING).catch(
      (error: unknown) => error,
    )
    await until(() => isSilent)
    // The network is back only when all of these calls have ended.
    if (whose === 'all') await update(900).catch((error: unknown) => expectRetryable(error))
    else await update(900)
    proxies[shard]!.silence = 'none'
    proxies[shard]!.cut()

    const result = await moving
    if ((result as { state?: string }).state !== 'done') {
      expectRetryable(result)
      expect(await resumeMoves(writer, TUNING)).toMatchObject([{ state: 'done' }])
    }
    await update(901)
    for (const entity of await writer.getMany(ids)) expect(entity).toMatchObject({ rank: 901 })
    expect(await movesOf(writer)).toEqual([])
    await checkSwept(writer)
  },
  30_000,
)
