import { randomBytes } from 'node:crypto'
import { parseId, type Time } from '@looseleaf/core'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { moveBuckets, movesOf, resumeMoves, undoMove } from '@looseleaf/mover/internal'
import { DataStore } from '@looseleaf/store'
import { bucketOfId } from '@looseleaf/router'
import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { fastTime, leapingTime } from '@looseleaf-tooling/kit/times'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { createLimitedUser, recreateDatabase, sendStatement } from '@looseleaf-tooling/vitest/limited-user'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  checkIndexes,
  checkQueries,
  contentsOf,
  fill,
  indexes,
  itemOf,
  rowsAt,
  SOME_BUCKETS,
} from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }
const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX'
/** Bytes that do not fit into the target at first. */
const MOVED_BYTES = 14_000_000
const LARGE_BYTES = 400_000
const COUNT = 60
const TUNING = { leaseMs: 1, groups: 2 }

let folder: string
let source: RunningServers
let target: RunningServers
/** The user of the store on the target. */
let limited: Awaited<ReturnType<typeof createLimitedUser>>

/** Starts the target on its data. All of its tables are in one file, whose greatest size is given. */
function startTarget(most: string): Promise<RunningServers> {
  return startServers(1, {
    database: 'store',
    folder,
    serverArguments: [
      '--innodb-file-per-table=0',
      `--innodb-data-file-path=ibdata1:12M:autoextend:max:${most}`,
      '--innodb-autoextend-increment=1',
    ],
  })
}

const adminUrl = (): string => target.urls[0]!
/** The user of the store as it stands in a statement. */
const user = (): string => `'${new URL(limited.url).username}'@'%'`
/** Sends a statement to the target as administrator. */
const ask = (statement: string): Promise<void> => sendStatement(adminUrl(), statement)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looseleaf-target-'))
  source = await startServers(1, { database: 'store' })
  target = await startTarget('20M')
})
afterAll(async () => {
  await source?.stop()
  await target?.stop()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(async () => {
  for (const url of [source.urls[0]!, adminUrl()]) await recreateDatabase(url)
  limited = await createLimitedUser(adminUrl(), RIGHTS)
})

/** URLs of the store, whose user has few rights on the target. */
function ownUrls(): string[] {
  const { username, password } = new URL(limited.url)
  return [source.urls[0]!, Object.assign(new URL(adminUrl()), { username, password }).href]
}

/** Opens the store, by default with waits that end at once. */
const open = ({ migrate = false, time = leapingTime() as Time } = {}): Promise<DataStore> =>
  DataStore.open({
    shards: mysqlShards(ownUrls()),
    indexes,
    migrate,
    time,
    onWarning: () => {},
  })

/** Fills a store, begins a move, and ends it when the first entities have been copied. */
async function interruptedMove(): Promise<void> {
  // Rows that updates have lost are deleted when the store closes. A copy of one would stay for the cleaner.
  {
    await using filled = await open({ migrate: true })
    await fill(filled, COUNT)
  }
  await using store = await open()
  const aborter = new AbortController()
  const move = moveBuckets(store, PLAN, {
    signal: aborter.signal,
    onProgress({ counts }) {
      if (counts.entities > 0) aborter.abort()
    },
  })
  await expect(move).rejects.toMatchObject({ code: 'ABORTED' })
}

async function expectWhole(
  store: DataStore,
  before: ReadonlyMap<string, string>,
  owner: 0 | 1,
): Promise<void> {
  expect(await movesOf(store)).toEqual([])
  expect(await contentsOf(store)).toEqual(before)
  expect(await rowsAt(store, 1 - owner, SOME_BUCKETS)).toBe(0)
  await checkQueries(store)
  await checkIndexes(store)
}

test('a move whose target becomes read-only names the setting, and is resumed when the target takes writes again', async () => {
  await interruptedMove()
  await using store = await open()
  const before = await contentsOf(store)
  onTestFinished(() => ask('SET GLOBAL read_only = OFF'))
  await ask('SET GLOBAL read_only = ON')
  await expect(resumeMoves(store, TUNING)).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
    message: expect.stringMatching(/read-only .*set read_only to OFF/) as string,
  })
  await ask('SET GLOBAL read_only = OFF')
  expect(await resumeMoves(store, TUNING)).toMatchObject([{ state: 'done' }])
  await expectWhole(store, before, 1)
}, 60_000)

test('a move is undone while its target is read-only, and the copies are deleted when it takes writes again', async () => {
  await interruptedMove()
  await using store = await open()
  const before = await contentsOf(store)
  const [{ id } = { id: 0 }] = await movesOf(store)
  onTestFinished(() => ask('SET GLOBAL read_only = OFF'))
  await ask('SET GLOBAL read_only = ON')
  expect(await undoMove(store, id, TUNING)).toMatchObject({
    state: 'undoing',
    heldUpBy: expect.stringContaining('read-only') as string,
  })
  await ask('SET GLOBAL read_only = OFF')
  expect(await resumeMoves(store, TUNING)).toMatchObject([{ id, state: 'undone' }])
  await expectWhole(store, before, 0)
}, 60_000)

test('a move that lacks a right on its target names it, and is resumed after the grant', async () => {
  await interruptedMove()
  await ask(`REVOKE INSERT ON store.* FROM ${user()}`)
  {
    await using denied = await open()
    await expect(resumeMoves(denied, TUNING)).rejects.toMatchObject({
      code: 'SHARD_DENIED',
      message: expect.stringMatching(/INSERT/) as string,
    })
  }
  await ask(`GRANT INSERT ON store.* TO ${user()}`)
  await using store = await open()
  const before = await contentsOf(store)
  expect(await resumeMoves(store, TUNING)).toMatchObject([{ state: 'done' }])
  await expectWhole(store, before, 1)
}, 60_000)

test('a move to a target without room says so, and is resumed when there is room', async ({ skip }) => {
  skip(!isLong, 'it takes twenty seconds; LOOSELEAF_LONG=1 runs it')
  // The server frees pages in the background, so tries have to be some time apart.
  const store = await open({ migrate: true, time: fastTime(10) })
  await fill(store, COUNT)
  for (let bytes = 0; bytes < MOVED_BYTES; bytes += LARGE_BYTES) {
    // An entity of the other shard would take the room before the move.
    let id = store.newId()
    while (bucketOfId(parseId(id)) >= 1_024) id = store.newId()
    await store.put({ ...itemOf(COUNT + bytes / LARGE_BYTES), pad: randomBytes(LARGE_BYTES) }, { id })
  }
  const before = await contentsOf(store)
  await expect(moveBuckets(store, PLAN, TUNING)).rejects.toMatchObject({
    code: 'SHARD_FULL',
    shard: expect.stringContaining(new URL(adminUrl()).host) as string,
  })
  expect(await movesOf(store)).toMatchObject([{ state: 'copying', handedOver: 0 }])
  expect(await contentsOf(store)).toEqual(before)
  await store.close()

  await target.stop()
  target = await startTarget('60M')
  await using later = await open()
  expect(await resumeMoves(later, TUNING)).toMatchObject([{ state: 'done' }])
  await expectWhole(later, before, 1)
}, 60_000)
