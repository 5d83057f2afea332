import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLooseleafError, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { moveBuckets, movesOf, resumeMoves } from '@looseleaf/mover/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { through } from '@looseleaf-tooling/kit/changed-driver'
import { fastTime } from '@looseleaf-tooling/kit/times'
import { freePort, startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTcpProxy, type TcpProxy } from '../../../driver-mysql/test/tcp-proxy.ts'
import { checkSwept, indexes, itemOf, SOME_BUCKETS } from './stores.ts'

const TUNING = { groups: 2, leaseMs: 1 }
const WRITERS = 4
const COUNT = 20
const time = fastTime(10)

interface Server {
  readonly folder: string
  running: RunningServers
  readonly proxy: TcpProxy
}
let servers: readonly Server[]
let urls: readonly string[]

const start = async (folder: string): Promise<RunningServers> =>
  startServers(1, { database: 'store', folder, portBase: await freePort() })
const portOf = ({ urls: [url] }: RunningServers): number => Number(new URL(url!).port)

beforeEach(async () => {
  servers = await Promise.all(
    [0, 1].map(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'looseleaf-failover-'))
      const running = await start(folder)
      return { folder, running, proxy: await startTcpProxy(portOf(running)) }
    }),
  )
  urls = servers.map(
    ({ running, proxy }) => Object.assign(new URL(running.urls[0]!), { port: proxy.port }).href,
  )
})
afterEach(async () => {
  for (const { folder, running, proxy } of servers) {
    await proxy.close()
    await running.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

/** Kills a server, and starts another one with its data on another port, at the same address for its clients. */
async function failOver(server: Server): Promise<void> {
  process.kill(server.running.pids[0]!, 'SIGKILL')
  await server.running.stop()
  server.running = await start(server.folder)
  server.proxy.target = portOf(server.running)
  server.proxy.cut()
}

const open = (plan: FaultPlan = () => undefined): Promise<DataStore> =>
  DataStore.open({
    shards: through(mysqlShards(urls, { deadlineMs: 5_000, connectTimeoutMs: 1_000 }), (driver) =>
      faultyDriver(driver, plan),
    ),
    indexes,
    migrate: true,
    time,
    onWarning: () => {},
  })

/** Makes a call until it has ended without an error that asks to try again. */
async function untilDone(call: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await call()
      return
    } catch (error) {
      if (!isLooseleafError(error) || !error.retryable) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** Writes entities of its own until the end. Returns the rank of the last acknowledged write of each. */
async function write(store: DataStore, isOver: () => boolean): Promise<ReadonlyMap<EntityId, number>> {
  const written = new Map<EntityId, number>()
  const ids = Array.from({ length: COUNT }, () => store.newId())
  for (let n = 0; !isOver() || n < 2 * COUNT; n++) {
    const id = ids[n % COUNT]!
    await untilDone(() => store.put({ ...itemOf(n), name: id, rank: n }, { id }))
    written.set(id, n)
  }
  return written
}

/** Calls of the mover before which a server fails over. */
const TIMES: readonly (readonly [server: 'source' | 'target', time: string])[] = [
  ['source', 'under the seal'],
  ['target', 'when it begins'],
  ...(isLong
    ? ([
        ['source', 'while copying'],
        ['target', 'while copying'],
        ['target', 'under the seal'],
        ['source', 'after the hand-over'],
        ['target', 'after the hand-over'],
        ['source', 'when it begins'],
      ] as const)
    : []),
]

function timeOf(shard: number, operation: string, catalog: Partial<ShardCatalog>): string | undefined {
  if (shard === 1 && operation === 'receive') return 'while copying'
  if (operation !== 'change') return undefined
  const { leaving, away, arrived } = catalog.serves ?? {}
  if (shard === 1) return arrived === undefined ? undefined : 'when it begins'
  if (leaving?.some(({ sealed }) => sealed !== undefined)) return 'under the seal'
  return away === undefined ? undefined : 'after the hand-over'
}

test.each(TIMES)(
  'a move and four writers go on after its %s has failed over without loss %s, and nothing is lost or doubled',
  async (failing, when) => {
    await using store = await open()
    let isOver = false
    let hasFailed = false
    const writing = Promise.all(Array.from({ length: WRITERS }, () => write(store, () => isOver)))
    writing.catch(() => {})
    const fail = async (): Promise<void> => {
      hasFailed = true
      await failOver(servers[failing === 'source' ? 0 : 1]!)
    }
    await using mover = await open(({ shard, operation, args: [catalog] }) => {
      const serves = operation === 'change' ? (catalog as ShardCatalog).serves : undefined
      const now = timeOf(shard, operation, { serves })
      if (hasFailed || now !== when) return undefined
      return now === 'under the seal' || now === 'after the hand-over' ? { after: fail } : { before: fail }
    })
    try {
      await moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS }, TUNING)
    } catch (error) {
      expect(error).toMatchObject({ retryable: true })
      expect(await resumeMoves(store, TUNING)).toMatchObject([{ state: 'done' }])
    }
    expect(hasFailed).toBe(true)
    isOver = true
    const written = new Map((await writing).flatMap((each) => [...each]))

    expect(await movesOf(store)).toEqual([])
    const scanned: [string, unknown][] = []
    for await (const { id, rank } of store.scan()) scanned.push([id, rank])
    expect(scanned.toSorted()).toEqual([...written].toSorted())
    await checkSwept(store)
  },
  60_000,
)
