import { isLooseleafError, parseId, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { moveBuckets, movesOf, resumeMoves } from '@looseleaf/mover/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { through } from '@looseleaf-tooling/kit/changed-driver'
import { fastTime } from '@looseleaf-tooling/kit/times'
import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { createLimitedUser, recreateDatabase, sendStatement } from '@looseleaf-tooling/vitest/limited-user'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { checkSwept, contentsOf, fill, indexes, SOME_BUCKETS } from './stores.ts'

const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX'
const TUNING = { groups: 2, leaseMs: 1 }
const time = fastTime(10)

let servers: RunningServers
let urls: readonly [string, string]
let user: string

beforeAll(async () => {
  servers = await startServers(2, { database: 'store', inMemory: true })
})
afterAll(() => servers?.stop())
beforeEach(async () => {
  for (const url of servers.urls) await recreateDatabase(url)
  const { url } = await createLimitedUser(servers.urls[1]!, RIGHTS)
  urls = [servers.urls[0]!, url]
  user = new URL(url).username
})

/** Sends a statement to the target as administrator. */
const ask = (statement: string): Promise<void> => sendStatement(servers.urls[1]!, statement)

const open = (plan: FaultPlan = () => undefined): Promise<DataStore> =>
  DataStore.open({
    shards: through(mysqlShards(urls), (driver) => faultyDriver(driver, plan)),
    indexes,
    migrate: true,
    time,
    onWarning: () => {},
  })

/** Ends the connections of the store, because a server keeps the rights of a connection. */
async function endConnections(): Promise<void> {
  const admin = await createConnection(servers.urls[1]!)
  try {
    const [rows] = await admin.query<RowDataPacket[]>('SHOW PROCESSLIST')
    for (const { Id, User } of rows)
      if (User === user) await admin.query(`KILL ${Number(Id)}`).catch(() => {})
  } finally {
    await admin.end()
  }
}

const REFUSALS = {
  'is read-only': {
    begin: () => ask('SET GLOBAL read_only = ON'),
    end: () => ask('SET GLOBAL read_only = OFF'),
    error: {
      code: 'SHARD_UNAVAILABLE',
      message: expect.stringMatching(/read-only .*read_only to OFF/) as string,
    },
  },
  'denies updates': {
    async begin() {
      await ask(`REVOKE UPDATE ON store.* FROM '${user}'@'%'`)
      await endConnections()
    },
    async end() {
      await ask(`GRANT UPDATE ON store.* TO '${user}'@'%'`)
      await endConnections()
    },
    error: { code: 'SHARD_DENIED', message: expect.stringMatching(/UPDATE/) as string },
  },
}
type Refusal = keyof typeof REFUSALS

const TIMES = ['while copying', 'under the seal', 'after the hand-over'] as const

function timeOf(shard: number, operation: string, catalog: Partial<ShardCatalog>): string | undefined {
  if (shard === 1) return operation === 'receive' ? 'while copying' : undefined
  const { leaving, away } = (operation === 'change' && catalog.serves) || {}
  if (leaving?.some(({ sealed }) => sealed !== undefined)) return 'under the seal'
  return away === undefined ? undefined : 'after the hand-over'
}

/** Refusals from one call of the mover on. `refusing-target.int.test.ts` has moves that are resumed while their target refuses. */
const CASES: readonly (readonly [Refusal, (typeof TIMES)[number]])[] = isLong
  ? TIMES.flatMap((when) => [['is read-only', when] as const, ['denies updates', when] as const])
  : [
      ['is read-only', 'under the seal'],
      ['denies updates', 'after the hand-over'],
    ]

test.each(CASES)(
  'a move whose target %s from one call on (%s) rejects with the reason, loses nothing, and ends after the mend',
  async (how, when) => {
    const { begin, end, error } = REFUSALS[how]
    onTestFinished(() => ask('SET GLOBAL read_only = OFF'))
    await using writer = await open()
    await fill(writer, 60)
    const isMoving = entitiesIn(writer.context, SOME_BUCKETS)
    const ids = [...(await contentsOf(writer)).keys()] as EntityId[]
    let isRefusing = false
    const refuse = async (): Promise<void> => {
      isRefusing = true
      await begin()
    }
    await using mover = await open(({ shard, operation, args: [catalog] }) => {
      if (isRefusing || timeOf(shard, operation, (catalog ?? {}) as Partial<ShardCatalog>) !== when)
        return undefined
      return when === 'while copying' ? { before: refuse } : { after: refuse }
    })
    const moving = moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS }, TUNING)
    await expect(moving).rejects.toMatchObject(error)

    // A bucket that was given up waits for its target; all others are read.
    const moved = ids.filter((id) => isMoving(parseId(id)))
    const reads = await Promise.allSettled(moved.map((id) => writer.get(id)))
    for (const read of reads) if (read.status === 'rejected') expect(read.reason).toMatchObject(error)
    const [{ handedOver } = { handedOver: 0 }] = await movesOf(writer)
    expect(reads.some(({ status }) => status === 'rejected')).toBe(handedOver > 0)
    const ranks = new Map<EntityId, number>()
    for (const id of moved) {
      const written = await writer.update(id, (bag) => ({ ...bag, rank: 900 })).catch((each: unknown) => each)
      if (isLooseleafError(written)) expect(written).toMatchObject(error)
      else ranks.set(id, 900)
    }

    await end()
    await using later = await open()
    expect(await resumeMoves(later, TUNING)).toMatchObject([{ state: 'done' }])
    expect([...(await contentsOf(later)).keys()].toSorted()).toEqual(ids.toSorted())
    for (const [id, rank] of ranks) expect(await later.get(id)).toMatchObject({ rank })
    await Promise.all(ids.map((id) => writer.update(id, (bag) => ({ ...bag, rank: 901 }))))
    for (const entity of await later.getMany(ids)) expect(entity).toMatchObject({ rank: 901 })
    await checkSwept(later)
  },
  60_000,
)
