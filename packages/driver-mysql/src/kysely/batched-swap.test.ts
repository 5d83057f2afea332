import { LooseleafError } from '@looseleaf/core'
import type { EntityReplace } from '@looseleaf/core/internal'
import type { BatchedSwap, Call, Row, Session } from '@looseleaf/driver-kysely/internal'
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
import { batchedSwap, MAX_NAMED, swapStatement } from './batched-swap.ts'

const [A, B, C] = [1, 2, 3].map((number) => Buffer.alloc(16, number)) as [Buffer, Buffer, Buffer]
const text = Buffer.from('text')

const swap = (id: Buffer, body: Uint8Array | null = text): EntityReplace => ({
  id,
  base: 1,
  version: 2,
  body,
})

/** More rows than one number can name. */
const many = Array.from({ length: MAX_NAMED + 1 }, (_, number) => swap(Buffer.alloc(16, number)))
const first = many[0] as EntityReplace

const SWAP = 'UPDATE ('
const VERSIONS = 'SELECT versions'
const LONG = /BINARY\(16777215\)/g

/** A part of the text of the next statement, or `BEGIN`, `COMMIT` or `ROLLBACK`, and the answer to it. */
type Step = readonly [
  part: string,
  answer?: { readonly rows?: readonly Row[]; readonly changed?: number; readonly insertId?: bigint },
]

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
      const { rows = [], changed = 0, insertId } = answer(query.sql)
      return {
        rows: [...rows],
        numAffectedRows: BigInt(changed),
        ...(insertId !== undefined && { insertId }),
      }
    },
    async transaction(_, work) {
      answer('BEGIN')
      try {
        const result = await work(open())
        answer('COMMIT')
        return result
      } catch (error) {
        if (error instanceof LooseleafError) answer('ROLLBACK')
        throw error
      }
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

/** Sends swaps while the database answers exactly these statements, in this order. */
async function replace(rows: readonly EntityReplace[], ...steps: readonly Step[]): Promise<unknown> {
  script = [...steps]
  sent.length = 0
  const won = await swaps.send(rows, [], call, session).catch((error: unknown) => {
    if (error instanceof LooseleafError) return error
    expect(unexpected).toEqual([])
    throw error
  })
  expect({ unexpected, missing: script }).toEqual({ unexpected: [], missing: [] })
  return won
}

describe('a batched swap', () => {
  test('a swap that changed no row lost all, and one that changed all rows won all', async () => {
    expect(await replace([swap(A), swap(B)], [SWAP, { changed: 0 }])).toEqual([false, false])
    expect(await replace([swap(B), swap(C)], [SWAP, { changed: 2 }])).toEqual([true, true])
  })

  test('an answer to a swap that changed some rows names the winners, with a bit for each', async () => {
    const outcome = await replace([swap(A), swap(B), swap(C)], [SWAP, { changed: 2, insertId: 0b101n }])
    expect(outcome).toEqual([true, false, true])
  })

  test('a statement that names its winners may have 53 rows', async () => {
    const rows = many.slice(0, MAX_NAMED)
    const last = 1n << BigInt(MAX_NAMED - 1)
    const won = (await replace(rows, [SWAP, { changed: 1, insertId: last }])) as boolean[]
    expect(won.lastIndexOf(true)).toBe(MAX_NAMED - 1)
    expect(won.indexOf(true)).toBe(MAX_NAMED - 1)
    expect(Number(last) + Number(last) - 1).toBe(Number.MAX_SAFE_INTEGER)
  })

  test.each([undefined, 0b1n, 0b111n])(
    'an answer that names %s for two winners of three rows is OUTCOME_UNKNOWN, and the message says why',
    async (insertId) => {
      const answer = { changed: 2, ...(insertId !== undefined && { insertId }) }
      expect(await replace([swap(A), swap(B), swap(C)], [SWAP, answer])).toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        unknownOutcome: true,
        shard: 'scripted',
        message: expect.stringContaining('2 of 3 entities were written, and the answer does not name them'),
      })
    },
  )

  // Outside strict mode MySQL truncates a body that is longer than its type. MariaDB does not, and a longer type costs it time.
  test('a swap with a body of more than 65,535 bytes has another statement', async () => {
    const [short, long] = [new Uint8Array(65_535), new Uint8Array(65_536)]
    expect(await replace([swap(A, short), swap(B, null)], [SWAP, { changed: 2 }])).toEqual([true, true])
    expect(sent[0]?.text).not.toMatch(LONG)
    expect(await replace([swap(A, null), swap(B, long)], [SWAP, { changed: 2 }])).toEqual([true, true])
    expect(sent[0]?.text).toMatch(LONG)
  })

  test.each([true, false])(
    'a swap casts each body, with a long type only if a body is long: %s',
    (isLong) => {
      const table = { table: 'entities', fence: sql<boolean>`TRUE`, updated: sql`NOW` }
      const statement = swapStatement(2, { isLong, namesWinners: true }, table).compile(db).sql
      expect(statement.match(/CAST\(\? AS BINARY\)/g)).toHaveLength(2)
      expect(statement.match(LONG) ?? []).toHaveLength(isLong ? 2 : 0)
    },
  )
})

describe('a swap of more than 53 rows', () => {
  const versions = (won: (place: number) => boolean): Row[] =>
    many.map(({ id }, place) => ({ id, version: won(place) ? 2 : 1 }))

  test('a transaction that changed all rows reads no versions', async () => {
    const won = await replace(many, ['BEGIN'], [SWAP, { changed: many.length }], ['COMMIT'])
    expect(won).toEqual(many.map(() => true))
  })

  test('a transaction has won the rows that have its versions before its COMMIT', async () => {
    const isOdd = (place: number): boolean => place % 2 === 1
    const changed = many.filter((_, place) => isOdd(place)).length
    const answer = { rows: versions(isOdd) }
    const won = await replace(many, ['BEGIN'], [SWAP, { changed }], [VERSIONS, answer], ['COMMIT'])
    expect(won).toEqual(many.map((_, place) => isOdd(place)))
    expect(sent.at(-1)).toMatchObject({ write: false })
  })

  test('a transaction is rolled back if another process has given a row the same version', async () => {
    const answer = { rows: versions((place) => place < 2) }
    const outcome = await replace(many, ['BEGIN'], [SWAP, { changed: 1 }], [VERSIONS, answer], ['ROLLBACK'])
    expect(outcome).toMatchObject({ code: 'SHARD_BUSY', undone: true, unknownOutcome: false })
  })

  test('a swap within the transaction of its caller begins no other', async () => {
    script = [[SWAP, { changed: many.length }]]
    const outer = { ...session }
    expect(await swaps.send([first, ...many.slice(1)], [], call, outer)).toEqual(many.map(() => true))
    expect(script).toEqual([])
  })
})
