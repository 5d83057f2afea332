import { randomUUID } from 'node:crypto'
import type { LooseleafError, Shard } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity } from '../../test/bench.ts'
import { mixSessions, startSessionPooler, type Command } from '../../test/session-pooler.ts'
import { undone } from '../../test/undone.ts'

const bench = await freshBench()

const CLIENTS = 4
const SESSIONS = 8
const ROUNDS = 20

/** A write and its outcome. */
interface KnownWrite {
  readonly id: Uint8Array
  readonly version: number
  readonly isDeferred: boolean
  readonly outcome: 'done' | 'not done' | 'unknown'
}

/** The last version that a write has used. */
let latest = 1_000
const next = (): number => ++latest

const failedAs = (error: unknown): 'not done' | 'unknown' =>
  (error as LooseleafError).unknownOutcome ? 'unknown' : 'not done'

/** Inserts new entities, some with a future epoch, and replaces the shared ones. */
async function write(shard: Shard, shared: readonly Uint8Array[], table: string): Promise<KnownWrite[]> {
  const writes: KnownWrite[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const deferred = round % 3 === 1 ? [table] : []
    const isDeferred = deferred.length > 0
    const entities = [newEntity(), newEntity()].map((entity) => ({ ...entity, version: next(), deferred }))
    const inserted = await shard.entities.insert(entities, { epoch }).then(() => 'done' as const, failedAs)
    for (const { id, version: tried } of entities)
      writes.push({ id, version: tried, isDeferred, outcome: inserted })

    const early = shard.entities.insert([newEntity(), newEntity()], { epoch: epoch + 1 })
    await expect(early).rejects.toMatchObject({ unknownOutcome: false })

    const found = await shard.entities.readVersions(shared).catch(() => [])
    const swaps = shared.map((id, i) => ({
      ...newEntity(),
      id,
      base: found[i] ?? 1,
      version: next(),
      deferred,
    }))
    const won = await shard.entities.replace(swaps, { epoch }).catch(failedAs)
    for (const [i, { id, version: tried }] of swaps.entries()) {
      const outcome = typeof won === 'string' ? won : won[i] === true ? 'done' : 'not done'
      writes.push({ id, version: tried, isDeferred, outcome })
    }
  }
  return writes
}

/** Sends one in fifty statements to the session of an earlier client. */
function strayNowAndThen({ client, text }: Command): number {
  const isOpening = /^S(ET|HOW)/.test(text)
  if (isOpening || Math.random() > 0.02) return client
  return client + SESSIONS - 1 - Math.floor(Math.random() * CLIENTS)
}

test.each([
  ['sends statements to any session', mixSessions(CLIENTS)],
  ['sends some statements to another session', strayNowAndThen],
])('every outcome behind a pooler that %s is true', async (_, route) => {
  const { shard: direct } = await bench.migrate()
  const setUp = "SET SESSION sql_mode = ''"
  const pooler = await startSessionPooler(bench.url, { sessions: SESSIONS, setUp, rollsBack: true })
  cleanUp(() => pooler.close())
  const shards = await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const { shard } = await bench.connect({ poolSize: 1, lockWaitSeconds: 1 }, pooler.url)
      return shard
    }),
  )
  const shared = [newEntity(), newEntity(), newEntity()]
  await direct.entities.insert(shared, { epoch })
  const ids = shared.map(({ id }) => id)
  const before = (await direct.entities.count()).lastAddedId
  const table = `index_${randomUUID()}`
  // Until now each client had its own session, as with a pooler that has enough of them.
  pooler.route = route
  const writes = (await Promise.all(shards.map((shard) => write(shard, ids, table)))).flat()
  await pooler.close()
  await undone(await bench.observe())

  const versions = await direct.entities.readVersions(writes.map(({ id }) => id))
  const noted = new Map(
    (await direct.pending.page({ limit: 10_000 }))
      .filter((row) => row.table === table)
      .map(({ entityId, version }) => [Buffer.from(entityId).toString('hex'), version]),
  )
  const wrong = writes.filter(({ id, version, isDeferred, outcome }, i) => {
    const storedVersion = versions[i] ?? 0
    if (outcome === 'done' && storedVersion < version) return true
    if (outcome === 'not done' && storedVersion === version) return true
    return (
      isDeferred && storedVersion === version && (noted.get(Buffer.from(id).toString('hex')) ?? 0) < version
    )
  })
  expect(wrong).toEqual([])
  // No other rows exist, such as those of another epoch or with version 0.
  const known = new Set(writes.map(({ id, version }) => `${Buffer.from(id).toString('hex')} ${version}`))
  const rows = await direct.entities.pageByAdded(before, 10_000)
  expect(
    rows.filter(({ id, version }) => !known.has(`${Buffer.from(id).toString('hex')} ${version}`)),
  ).toEqual([])
})
