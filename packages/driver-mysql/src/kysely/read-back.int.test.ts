import { randomBytes } from 'node:crypto'
import type { Shard } from '@looseleaf/core'
import type { EntityReplace } from '@looseleaf/core/internal'
import { beforeEach, describe, expect, test } from 'vitest'
import { epoch, freshBench, newEntity } from '../../test/bench.ts'
import { wordsThrough } from '../../test/sent-statements.ts'
import type { TcpProxy } from '../../test/tcp-proxy.ts'
import { MAX_NAMED } from './batched-swap.ts'

const bench = await freshBench()
let proxy: TcpProxy
let shard: Shard
/** First words of the statements since the start of a test. */
let sent: string[]

beforeEach(async () => {
  const behind = await bench.behindProxy()
  proxy = behind.proxy
  shard = (await bench.migrate({}, behind.url)).shard
  sent = wordsThrough(proxy)
})

/** Breaks the connection instead of sending the first statement that contains this text. */
function cutAt(part: string): void {
  proxy.rewrite = (bytes) => {
    if (!bytes.includes(part)) return bytes
    proxy.rewrite = (later) => later
    proxy.cut()
    return Buffer.alloc(0)
  }
}

/** Inserts two entities, and returns their swaps. */
async function twoSwaps(): Promise<[EntityReplace, EntityReplace]> {
  const entities = [newEntity(), newEntity()]
  await shard.entities.insert(entities, { epoch })
  const [a, b] = entities.map((entity) => ({ ...entity, base: 1, version: 2 }))
  return [a as EntityReplace, b as EntityReplace]
}

const versions = (rows: readonly EntityReplace[]) => shard.entities.readVersions(rows.map(({ id }) => id))

/** Adds rows to a swap until one answer cannot name its winners. */
async function withOthers(...rows: readonly EntityReplace[]): Promise<EntityReplace[]> {
  const others = Array.from({ length: MAX_NAMED }, newEntity)
  await shard.entities.insert(others, { epoch })
  return [...rows, ...others.map((entity) => ({ ...entity, base: 1, version: 2 }))]
}

const lost = (row: EntityReplace): EntityReplace => ({ ...row, base: 9, version: 10 })

describe('swaps in one call', () => {
  test('swaps of one call are one statement, whether they win or lose', async () => {
    const [a, b] = await twoSwaps()
    const others = await twoSwaps()
    sent.length = 0
    expect(await shard.entities.replace([a, lost(b), ...others], { epoch })).toEqual([
      true,
      false,
      true,
      true,
    ])
    expect(sent).toEqual(['UPDATE'])
    expect(await versions([a, b])).toEqual([2, 1])
  })

  test.each([2, 20, MAX_NAMED])('a batch of %i swaps returns the winners', async (count) => {
    const entities = Array.from({ length: count }, newEntity)
    await shard.entities.insert(entities, { epoch })
    for (const round of [1, 2, 3, 4]) {
      // A value of LAST_INSERT_ID from another statement must not mix in.
      await shard.entities.insert([newEntity()], { epoch })
      const before = await shard.entities.readVersions(entities.map(({ id }) => id))
      const wins = entities.map((_, place) => (place * 7 + round) % 3 > 0)
      const rows = entities.map((entity, i) => ({
        ...entity,
        base: (before[i] as number) + (wins[i] ? 0 : 1),
        version: round * 10,
      }))
      expect(await shard.entities.replace(rows, { epoch })).toEqual(wins)
      const after = await shard.entities.readVersions(entities.map(({ id }) => id))
      expect(after).toEqual(wins.map((isWinner, i) => (isWinner ? round * 10 : before[i])))
    }
  })

  test('a prepared batch of swaps with long bodies returns the winners', async () => {
    const [a, b] = await twoSwaps()
    const body = randomBytes(70_000)
    expect(await shard.entities.replace([{ ...a, body }, lost(b)], { epoch })).toEqual([true, false])
    expect((await shard.entities.read([a.id]))[0]?.body).toEqual(body)
    // The same prepared statement, with other winners.
    expect(await shard.entities.replace([lost(a), { ...b, body }], { epoch })).toEqual([false, true])
    expect(await versions([a, b])).toEqual([2, 2])
  })

  test('a batch of more than 53 swaps is one packet', async () => {
    const [a, b] = await twoSwaps()
    const rows = await withOthers(a, lost(b))
    sent.length = 0
    const won = await shard.entities.replace(rows, { epoch })
    expect(won).toEqual(rows.map((_, place) => place !== 1))
    expect(sent).toEqual(['START'])
    expect(await versions([a, b])).toEqual([2, 1])
  })

  test('a batch of swaps with pending rows returns the winners, in one transaction', async () => {
    const [a, b] = await twoSwaps()
    const deferred = ['ix_down']
    expect(await shard.entities.replace([{ ...a, deferred }, lost({ ...b, deferred })], { epoch })).toEqual([
      true,
      false,
    ])
  })
})

test('the loser of two writers with the same version and base is not told that it won', async () => {
  const [a, b] = await twoSwaps()
  const body = Buffer.from('of the winner')
  const { shard: other } = await bench.connect()
  await other.entities.replace([{ ...a, body }], { epoch })
  expect(await shard.entities.replace([a, b], { epoch })).toEqual([false, true])
  expect(await shard.entities.read([a.id])).toMatchObject([{ version: a.version, body }])

  const [c, d] = await twoSwaps()
  await other.entities.replace([{ ...c, body }], { epoch })
  const many = await withOthers(c, d)
  expect(await shard.entities.replace(many, { epoch })).toEqual(many.map((_, place) => place !== 0))
  expect(await versions([c, d])).toEqual([2, 2])
})

const unique = {
  table: 'ix_taken',
  columns: [{ name: 'n', type: 'integer' }],
  unique: true,
} as const

/** Takes two claims, in a transaction whose statements are answered one by one. */
async function takeTwo(): Promise<unknown> {
  return shard.claims(unique).take([1n, 2n].map((n) => ({ key: [n], entityId: newEntity().id, version: 1 })))
}

describe('a transaction whose statements are answered one by one', () => {
  beforeEach(async () => {
    await shard.dropIndexTable(unique)
    await shard.createIndexTable(unique)
  })

  const taken = () => shard.index(unique).count({ prefix: [] })

  test('a transaction that cannot begin writes nothing, and the next one has another connection', async () => {
    proxy.rewrite = (bytes) => {
      if (!bytes.includes('START TRANSACTION')) return bytes
      proxy.rewrite = (later) => later
      return Buffer.from(bytes.toString('latin1').replace('TRANSACTION', 'TRANSPOSING'), 'latin1')
    }
    await expect(takeTwo()).rejects.toMatchObject({ code: 'STATEMENT_FAILED', unknownOutcome: false })
    expect(await taken()).toBe(0)
    expect(await takeTwo()).toHaveLength(2)
  })

  test.each(['INSERT INTO `ix_taken`', 'SELECT `n`'])(
    'a transaction that loses its connection at %s writes nothing',
    async (part) => {
      cutAt(part)
      await expect(takeTwo()).rejects.toMatchObject({
        code: 'SHARD_UNAVAILABLE',
        retryable: true,
        unknownOutcome: false,
      })
      expect(await taken()).toBe(0)
    },
  )

  test('a transaction that loses its connection at its COMMIT is OUTCOME_UNKNOWN', async () => {
    cutAt('COMMIT')
    await expect(takeTwo()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', unknownOutcome: true })
  })
})
