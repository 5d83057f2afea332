import { randomUUID } from 'node:crypto'
import type { LooseleafError, Shard } from '@looseleaf/core'
import type { EntityInsert } from '@looseleaf/core/internal'
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
  /** The write has a row in `local`. */
  readonly isLocal: boolean
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
    const isLocal = round % 3 > 0
    const entities = [newEntity(), newEntity()].map(({ id, body }) =>
      withRow({ id, body, version: next(), deferred }, isLocal),
    )
    const inserted = await shard.entities.insert(entities, { epoch }).then(() => 'done' as const, failedAs)
    for (const { id, version: tried } of entities)
      writes.push({ id, version: tried, isDeferred, isLocal, outcome: inserted })

    const early = shard.entities.insert([newEntity(), newEntity()], { epoch: epoch + 1 })
    await expect(early).rejects.toMatchObject({ unknownOutcome: false })

    const found = await shard.entities.readVersions(shared).catch(() => [])
    const swaps = shared.map((id, i) =>
      withRow({ ...newEntity(), id, base: found[i] ?? 1, version: next(), deferred }, isLocal),
    )
    const won = await shard.entities.replace(swaps, { epoch }).catch(failedAs)
    for (const [i, { id, version: tried }] of swaps.entries()) {
      const outcome = typeof won === 'string' ? won : won[i] === true ? 'done' : 'not done'
      writes.push({ id, version: tried, isDeferred, isLocal, outcome })
    }
  }
  return writes
}

const local = { table: 'ix_local', columns: [{ name: 'n', type: 'integer' }] } as const

function withRow<Row extends EntityInsert>(entity: Row, isLocal: boolean): Row {
  const { id: entityId, version } = entity
  const rows = [{ key: [1n], entityId, version }]
  return isLocal ? { ...entity, local: { upsert: [{ spec: local, rows }] } } : entity
}

const hexOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')

/** Sends one in fifty statements to the session of an earlier client. */
function strayNowAndThen({ client, text }: Command): number {
  const isOpening = /^S(ET|HOW)/.test(text)
  if (isOpening || Math.random() > 0.02) return client
  return client + SESSIONS - 1 - Math.floor(Math.random() * CLIENTS)
}

test.each([
  ['sends statements to any session', 'apart', mixSessions(CLIENTS)],
  ['sends some statements to another session', 'whole', strayNowAndThen],
  ['sends some statements to another session', 'apart', strayNowAndThen],
  ['sends some statements to another session', 'refused', strayNowAndThen],
] as const)('every outcome behind a pooler that %s is true, with packets %s', async (_, packets, route) => {
  const { shard: direct } = await bench.migrate()
  await direct.createIndexTable(local)
  const setUp = "SET SESSION sql_mode = ''"
  const pooler = await startSessionPooler(bench.url, {
    sessions: SESSIONS,
    setUp,
    rollsBack: true,
    packets,
  })
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
  const before = await direct.entities.lastAddedId()
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
      .map(({ entityId, version }) => [hexOf(entityId), version]),
  )
  const [rows = []] = await direct.rowsOf(
    [local],
    writes.map(({ id }) => id),
  )
  const stamps = new Map(rows.map((row) => [hexOf(row.entityId), row.version]))
  const wrong = writes.filter(({ id, version, isDeferred, isLocal, outcome }, i) => {
    const storedVersion = versions[i] ?? 0
    if (outcome === 'done' && storedVersion < version) return true
    if (outcome === 'not done' && storedVersion === version) return true
    if (isLocal && storedVersion === version && (stamps.get(hexOf(id)) ?? 0) < version) return true
    return isDeferred && storedVersion === version && (noted.get(hexOf(id)) ?? 0) < version
  })
  expect(wrong).toEqual([])
  // No other rows exist, such as those of another epoch or with version 0.
  const known = new Set(writes.map(({ id, version }) => `${hexOf(id)} ${version}`))
  const stored = await direct.entities.pageByAdded(before, 10_000)
  expect(stored.filter(({ id, version }) => !known.has(`${hexOf(id)} ${version}`))).toEqual([])
})
