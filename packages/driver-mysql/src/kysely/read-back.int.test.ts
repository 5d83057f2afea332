import type { EntityReplace, EntityTable, Shard } from '@looseleaf/core'
import { kyselyShard } from '@looseleaf/driver-kysely'
import type { CompiledQuery, QueryResult } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity, settings } from '../../test/bench.ts'
import type { TcpProxy } from '../../test/tcp-proxy.ts'
import { parseShardAddress } from '../connection/shard-address.ts'
import { connectShard } from '../shard/connect-shard.ts'
import type { Pool } from '../shard/pool.ts'
import { mysqlDialect } from './dialect.ts'
import { mysqlFlavor } from './flavor.ts'

const SECOND = 1_000_000

const bench = await freshBench()
let proxy: TcpProxy
let shard: Shard
/** The first words of what was sent since a test began to listen. */
let sent: string[]

beforeEach(async () => {
  const behind = await bench.behindProxy()
  proxy = behind.proxy
  shard = (await bench.migrate({}, behind.url)).shard
  sent = []
  proxy.rewrite = (bytes) => {
    sent.push(/\w+/.exec(bytes.toString('latin1').slice(5))?.[0] ?? '')
    return bytes
  }
})

/** Breaks the connection in place of the first statement that has this in it. */
function cutAt(part: string): void {
  proxy.rewrite = (bytes) => {
    if (!bytes.includes(part)) return bytes
    proxy.rewrite = (later) => later
    proxy.cut()
    return Buffer.alloc(0)
  }
}

/** Two entities that this shard has written, and their swaps. */
async function twoSwaps(): Promise<[EntityReplace, EntityReplace]> {
  const entities = [newEntity(), newEntity()]
  await shard.entities.insert(entities, { epoch })
  const [a, b] = entities.map((entity) => ({ ...entity, base: 1, version: 2 }))
  return [a as EntityReplace, b as EntityReplace]
}

const versions = (rows: readonly EntityReplace[]) => shard.entities.readVersions(rows.map(({ id }) => id))

describe('swaps in one call', () => {
  test('of entities that nobody else writes are one statement', async () => {
    const swaps = await twoSwaps()
    sent = []
    expect(await shard.entities.replace(swaps, { epoch })).toEqual([true, true])
    expect(sent).toEqual(['UPDATE'])
  })

  test('of which others wrote one a moment ago are told apart in a transaction', async () => {
    const [a, b] = await twoSwaps()
    const { shard: other } = await bench.connect()
    // No two of these writes have one version, as none of a process have.
    await other.entities.replace([{ ...a, version: 12 }], { epoch })
    sent = []
    const again = [{ ...a, base: 12, version: 13 }, b]
    expect(await shard.entities.replace(again, { epoch })).toEqual([true, true])
    // The last makes sure that the COMMIT came to the session of the transaction.
    expect(sent).toEqual(['START', 'UPDATE', 'COMMIT', 'SELECT'])

    await other.entities.replace([{ ...a, base: 13, version: 14 }], { epoch })
    sent = []
    const half = [
      { ...a, base: 13, version: 15 },
      { ...b, base: 2, version: 4 },
      { ...newEntity(), base: 1, version: 3 },
    ]
    expect(await shard.entities.replace(half, { epoch })).toEqual([false, true, false])
    expect(sent).toEqual(['START', 'UPDATE', 'SELECT', 'COMMIT', 'SELECT'])
  })

  test('a swap that won in part, and cannot read which, has an unknown outcome', async () => {
    const [a, b] = await twoSwaps()
    cutAt('SELECT id, version FROM')
    const swap = shard.entities.replace([a, { ...b, base: 9, version: 9 + SECOND }], { epoch })
    await expect(swap).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', unknownOutcome: true })
    // It did take place: to call it a failure would have been a lie.
    expect(await versions([a, b])).toEqual([2, 1])
  })
})

/** Two swaps so long after the last writes that nothing tells of other writers. */
async function twoLateSwaps(): Promise<[EntityReplace, EntityReplace]> {
  const [a, b] = await twoSwaps()
  return [
    { ...a, version: 2 * SECOND },
    { ...b, version: 2 * SECOND },
  ]
}

/** Entities as another process has them, with what comes between its first swap and the reading back. */
function withBetween(between: () => Promise<unknown>): EntityTable {
  const pool = connectShard(parseShardAddress(bench.url, 'MySQL shard 0', undefined), settings)
  cleanUp(() => pool.close())
  let isOver = false
  const interrupted: Pool = {
    ...pool,
    async acquire(signal) {
      const connection = await pool.acquire(signal)
      const { executeQuery } = connection
      connection.executeQuery = async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
        const result = await executeQuery<R>(query)
        if (result.numAffectedRows !== undefined && !isOver) await between()
        isOver = true
        return result
      }
      return connection
    },
  }
  const dialect = mysqlDialect(interrupted)
  return kyselyShard({ name: 'interrupted', dialect, flavor: mysqlFlavor }).entities
}

test('of two writers that chose one version from one base, the loser is not told that it has won', async () => {
  const [a, b] = await twoLateSwaps()
  // The row of b alone wins, and is replaced once more.
  const entities = withBetween(() =>
    shard.entities.replace([{ ...b, base: b.version, version: 3 * SECOND }], { epoch }),
  )
  const body = Buffer.from('of the winner')
  await shard.entities.replace([{ ...a, body }], { epoch })
  const outcome = entities.replace([a, b], { epoch })
  await expect(outcome).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  const [row] = await shard.entities.read([a.id])
  expect(row).toMatchObject({ version: a.version, body })
})

test('a writer whose row was replaced again at once is told that it has won, by the others’ bodies', async () => {
  const [a, b] = await twoLateSwaps()
  const [c] = await twoLateSwaps()
  const entities = withBetween(() =>
    shard.entities.replace([{ ...b, base: b.version, version: 3 * SECOND }], { epoch }),
  )
  const [gone, lost] = [
    { ...c, body: null },
    { ...newEntity(), base: 1, version: 2 * SECOND },
  ]
  expect(await entities.replace([a, b, gone, lost], { epoch })).toEqual([true, true, true, false])
})

test('a transaction that cannot begin has not taken place, and the next one has another connection', async () => {
  const [a, b] = await twoSwaps()
  const contested = [a, { ...b, base: 9, version: 10 }]
  proxy.rewrite = (bytes) => {
    if (!bytes.includes('START TRANSACTION')) return bytes
    proxy.rewrite = (later) => later
    return Buffer.from(bytes.toString('latin1').replace('TRANSACTION', 'TRANSPOSING'), 'latin1')
  }
  await expect(shard.entities.replace(contested, { epoch })).rejects.toMatchObject({
    code: 'STATEMENT_FAILED',
    unknownOutcome: false,
  })
  expect(await versions([a, b])).toEqual([1, 1])
  expect(await shard.entities.replace(contested, { epoch })).toEqual([true, false])
})

describe('a transaction that loses its connection', () => {
  test.each(['UPDATE (', 'SELECT id, version FROM'])('at %s has not taken place', async (part) => {
    const [a, b] = await twoSwaps()
    cutAt(part)
    const contested = [a, { ...b, base: 9, version: 10 }]
    await expect(shard.entities.replace(contested, { epoch })).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      retryable: true,
      unknownOutcome: false,
    })
    expect(await versions([a, b])).toEqual([1, 1])
  })

  test('before what goes with its entity has not taken place', async () => {
    const entity = { ...newEntity(), deferred: ['ix_down'] }
    cutAt('INSERT INTO `looseleaf_pending`')
    await expect(shard.entities.insert([entity], { epoch })).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      unknownOutcome: false,
    })
    expect(await shard.entities.readVersions([entity.id])).toEqual([undefined])
  })

  test('at its COMMIT has an unknown outcome', async () => {
    const [a, b] = await twoSwaps()
    cutAt('COMMIT')
    const contested = [a, { ...b, base: 9, version: 10 }]
    await expect(shard.entities.replace(contested, { epoch })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      unknownOutcome: true,
    })
  })
})
