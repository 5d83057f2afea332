import { crc32 } from 'node:zlib'
import { LooseleafError, type EntityReplace } from '@looseleaf/core'
import type { BatchedSwap, Call, Row, Session } from '@looseleaf/driver-kysely'
import {
  DummyDriver,
  Kysely,
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  sql,
  type CompiledQuery,
} from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { batchedSwap, swapStatement } from './batched-swap.ts'

/** So long after the last write that nothing tells of other writers. */
const LATER = 10_000_000

const [A, B, C] = [1, 2, 3].map((number) => Buffer.alloc(16, number)) as [Buffer, Buffer, Buffer]
const text = Buffer.from('text')

const swap = (id: Buffer, body: Uint8Array | null = text, base = 1, version = LATER): EntityReplace => ({
  id,
  base,
  version,
  body,
})

/** What stands there: a version, and the CRC-32 of a body where it was asked for. */
const row = (id: Buffer, version = LATER, sum?: number | null): Row => ({ id, version, body_sum: sum })

const SWAP = 'UPDATE ('
const VERSIONS = 'SELECT versions'
const SUMS = 'CRC32'
const LONG = /BINARY\(16777215\)/g

const unknown = { code: 'OUTCOME_UNKNOWN', unknownOutcome: true, shard: 'scripted' }

/** A part of the next statement, or `BEGIN` or `COMMIT`, and the answer to it. */
type Step = readonly [part: string, answer?: { readonly rows?: readonly Row[]; readonly changed?: number }]

const db = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new MysqlAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (of) => new MysqlIntrospector(of),
    createQueryCompiler: () => new MysqlQueryCompiler(),
  },
})

const call: Call = { write: true, faults: {} }

let swaps: BatchedSwap
let session: Session
let script: Step[]
let unexpected: string[]
let sent: { readonly parameters: readonly unknown[]; readonly write: boolean; readonly text: string }[]

beforeEach(() => {
  script = []
  sent = []
  unexpected = []
  const shapes = new Map<string, CompiledQuery>()
  const answer = (statement: string): NonNullable<Step[1]> => {
    const [part, given = {}] = script[0] ?? []
    if (part === undefined || !statement.includes(part)) {
      unexpected.push(statement)
      throw new Error('No such statement was to come.')
    }
    script.shift()
    return given
  }
  const open = (): Session => ({
    async run(query, parameters, { write }) {
      sent.push({ parameters, write, text: query.sql })
      const { rows = [], changed = 0 } = answer(query.sql)
      return { rows: [...rows], numAffectedRows: BigInt(changed) }
    },
    async transaction(_, work) {
      answer('BEGIN')
      const result = await work(open())
      answer('COMMIT')
      return result
    },
    shape(key, build) {
      const query = shapes.get(key) ?? build().compile(db)
      shapes.set(key, query)
      return query
    },
  })
  session = open()
  const table = {
    shardName: 'scripted',
    session,
    table: 'entities',
    fence: sql<boolean>`TRUE`,
    updated: sql`NOW`,
    async readVersions(ids: readonly Uint8Array[], reading: Call, through: Session) {
      const query = session.shape('versions', () => sql`SELECT versions`)
      const { rows } = await through.run(query, ids, reading)
      return ids.map((id) => rows.find((each) => each.id === id)?.version as number | undefined)
    },
  }
  swaps = batchedSwap(table)
})

/** Swaps while the database answers these statements, in this order, and no others. */
async function replace(rows: readonly EntityReplace[], ...steps: readonly Step[]): Promise<unknown> {
  script = [...steps]
  sent.length = 0
  const won = await swaps.send(rows, [], call, session).catch((error: unknown) => {
    if (error instanceof LooseleafError) return error
    expect(unexpected).toEqual([])
    throw error
  })
  expect({ unexpected, missing: script }).toEqual({ unexpected: [], missing: [] })
  if (won instanceof LooseleafError) return won
  swaps.replaced?.(rows.filter((_, i) => won[i]))
  return won
}

describe('a swap of several rows', () => {
  test('that changed none has lost them all, and one that changed all has won them', async () => {
    expect(await replace([swap(A), swap(B)], [SWAP, { changed: 0 }])).toEqual([false, false])
    expect(await replace([swap(B), swap(C)], [SWAP, { changed: 2 }])).toEqual([true, true])
  })

  test('that changed some is told apart by the versions, where nobody replaced a row again', async () => {
    const rows = [row(A), row(B, 7)]
    const outcome = await replace([swap(A), swap(B), swap(C)], [SWAP, { changed: 1 }], [VERSIONS, { rows }])
    expect(outcome).toEqual([true, false, false])
    expect(sent.at(-1)).toMatchObject({ parameters: [A, B, C], write: false })
  })

  // MySQL cuts what is longer than it was told where it is not strict; MariaDB does not, and pays for a longer type.
  test('says so where one of the bodies is long', async () => {
    const [short, long] = [new Uint8Array(65_535), new Uint8Array(65_536)]
    expect(await replace([swap(A, short), swap(B, null)], [SWAP, { changed: 2 }])).toEqual([true, true])
    expect(sent[0]?.text).not.toMatch(LONG)
    const again = [swap(A, null, LATER, 2 * LATER), swap(B, long, LATER, 2 * LATER)]
    expect(await replace(again, [SWAP, { changed: 2 }])).toEqual([true, true])
    expect(sent[0]?.text).toMatch(LONG)
  })

  test.each([true, false])('casts each body, and to a long type only where one is long: %s', (isLong) => {
    const table = { table: 'entities', fence: sql<boolean>`TRUE` }
    const statement = swapStatement(2, isLong, { ...table, updated: sql`NOW` }).compile(db).sql
    expect(statement.match(/CAST\(\? AS BINARY\)/g)).toHaveLength(2)
    expect(statement.match(LONG) ?? []).toHaveLength(isLong ? 2 : 0)
  })
})

describe('a swap of which a row was replaced again', () => {
  const taken = row(C, LATER + 1)

  /** Two rows that have the version that was to be written, and one that has a greater one. */
  const withTaken = (body: Uint8Array | null, sums: readonly Row[]): Promise<unknown> =>
    replace(
      [swap(A), swap(B, body), swap(C)],
      [SWAP, { changed: 2 }],
      [VERSIONS, { rows: [row(A), row(B), taken] }],
      [SUMS, { rows: sums }],
    )

  test('is told apart by the numbers when the others have the bodies that were written', async () => {
    const outcome = await withTaken(null, [row(A, LATER, crc32(text)), row(B, LATER, null)])
    expect(outcome).toEqual([true, true, false])
    expect(sent.at(-1)).toMatchObject({ parameters: [A, B], write: false })
  })

  test('asks for no body of a row that lost', async () => {
    const rows = [row(A), row(B, 7), taken]
    const outcome = await replace(
      [swap(A), swap(B), swap(C)],
      [SWAP, { changed: 2 }],
      [VERSIONS, { rows }],
      [SUMS, { rows: [row(A, LATER, crc32(text))] }],
    )
    expect(outcome).toEqual([true, false, true])
    expect(sent.at(-1)).toMatchObject({ parameters: [A] })
  })

  test.each<[what: string, body: Uint8Array | null, sums: readonly Row[]]>([
    ['another body', text, [row(A, LATER, crc32(text)), row(B, LATER, crc32('other'))]],
    ['a body in place of a tombstone', null, [row(A, LATER, crc32(text)), row(B, LATER, crc32('other'))]],
    ['a tombstone in place of a body', text, [row(A, LATER, crc32(text)), row(B, LATER, null)]],
    // The sum of no bytes is 0.
    ['a tombstone in place of an empty body', Buffer.of(), [row(A, LATER, crc32(text)), row(B, LATER, null)]],
    ['another version by now', text, [row(A, LATER, crc32(text)), row(B, LATER + 1, crc32(text))]],
    ['no row', null, [row(A, LATER, crc32(text))]],
  ])('has an unknown outcome when one of the others has %s', async (_, body, sums) => {
    expect(await withTaken(body, sums)).toMatchObject(unknown)
  })

  test('has an unknown outcome when the number leaves it open, and asks for no bodies', async () => {
    const rows = [row(A), row(B, LATER + 1), taken]
    const outcome = await replace([swap(A), swap(B), swap(C)], [SWAP, { changed: 2 }], [VERSIONS, { rows }])
    expect(outcome).toMatchObject(unknown)
  })

  test('cannot be, within a transaction: a greater version was there before', async () => {
    const soon = [swap(A, text, 1, 5), swap(B, text, 1, 5), swap(C, text, 1, 5)]
    const rows = [row(A, 5), row(B, 5), row(C, 9)]
    const outcome = await replace(soon, ['BEGIN'], [SWAP, { changed: 2 }], [VERSIONS, { rows }], ['COMMIT'])
    expect(outcome).toEqual([true, true, false])
  })
})

describe('a swap needs a transaction', () => {
  const soon = (id: Buffer, base: number): EntityReplace => swap(id, text, base, base + 1)
  const alone: Step[] = [[SWAP, { changed: 2 }]]
  const careful: Step[] = [['BEGIN'], ...alone, ['COMMIT']]

  beforeEach(() => swaps.inserted?.([A, B, C].map((id) => ({ id, version: 1, body: text }))))

  test('not while this process alone writes its entities', async () => {
    expect(await replace([soon(A, 1), soon(B, 1)], ...alone)).toEqual([true, true])
    expect(await replace([soon(A, 2), soon(B, 2)], ...alone)).toEqual([true, true])
  })

  test('of an entity that others have written, and not for those that won beside it', async () => {
    const rows = [row(A, 2), row(B, 1)]
    const half = await replace([soon(A, 1), soon(B, 1)], [SWAP, { changed: 1 }], [VERSIONS, { rows }])
    expect(half).toEqual([true, false])
    expect(await replace([soon(A, 2), soon(C, 1)], ...alone)).toEqual([true, true])
    expect(await replace([soon(A, 3), soon(B, 7)], ...careful)).toEqual([true, true])
  })

  test('after one whose outcome is unknown', async () => {
    const rows = [row(A, 3), row(B, 3)]
    const lost = await replace([soon(A, 1), soon(B, 1)], [SWAP, { changed: 1 }], [VERSIONS, { rows }])
    expect(lost).toMatchObject(unknown)
    expect(await replace([soon(A, 3), soon(C, 1)], ...careful)).toEqual([true, true])
  })
})
