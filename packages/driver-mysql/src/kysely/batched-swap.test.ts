import { crc32 } from 'node:zlib'
import type { EntityReplace } from '@looseleaf/core/internal'
import type { Row } from '@looseleaf/driver-kysely/internal'
import {
  DummyDriver,
  Kysely,
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  sql,
  type QueryResult,
} from 'kysely'
import { describe, expect, test } from 'vitest'
import { batchedSwap, MAX_NAMED, swapStatement } from './batched-swap.ts'

const [A, B, C] = [1, 2, 3].map((number) => Buffer.alloc(16, number)) as [Buffer, Buffer, Buffer]

const swap = (id: Buffer, body: Uint8Array | null = Buffer.from('text')): EntityReplace => ({
  id,
  base: 1,
  version: 2,
  body,
})

const LONG = /BINARY\(16777215\)/g

const db = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new MysqlAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (of) => new MysqlIntrospector(of),
    createQueryCompiler: () => new MysqlQueryCompiler(),
  },
})

const table = { table: 'entities', epochFence: sql<boolean>`TRUE`, updated: sql`NOW` }

const swaps = batchedSwap({
  shardName: 'scripted',
  session: { shape: (_, build) => build().compile(db) },
  ...table,
})

const result = (changed: number, insertId?: bigint): QueryResult<Row> => ({
  rows: [],
  numAffectedRows: BigInt(changed),
  ...(insertId !== undefined && { insertId }),
})

describe('a batched swap', () => {
  test('a swap that changed no row lost all, and one that changed all rows won all', () => {
    expect(swaps.won([swap(A), swap(B)], [result(0)])).toEqual([false, false])
    // The number may be that of an earlier statement.
    expect(swaps.won([swap(A), swap(B)], [result(0, 1n)])).toEqual([false, false])
    expect(swaps.won([swap(B), swap(C)], [result(2)])).toEqual([true, true])
  })

  test('an answer to a swap that changed some rows names the winners, with a bit for each', () => {
    expect(swaps.won([swap(A), swap(B), swap(C)], [result(2, 0b101n)])).toEqual([true, false, true])
  })

  test('a statement that names its winners may have 53 rows', () => {
    const rows = Array.from({ length: MAX_NAMED }, () => swap(A))
    const last = 1n << BigInt(MAX_NAMED - 1)
    expect(swaps.statements(rows, [])).toHaveLength(1)
    const won = swaps.won(rows, [result(1, last)])
    expect(won.lastIndexOf(true)).toBe(MAX_NAMED - 1)
    expect(won.indexOf(true)).toBe(MAX_NAMED - 1)
    expect(Number(last) + Number(last) - 1).toBe(Number.MAX_SAFE_INTEGER)
  })

  test('a swap of more than 53 rows is several statements, each of which names its own winners', () => {
    const rows = Array.from({ length: 2 * MAX_NAMED + 1 }, (_, i) => swap(Buffer.alloc(16, i)))
    const statements = swaps.statements(rows, ['the epoch'])
    expect(statements.map(({ parameters }) => parameters.length)).toEqual([
      5 * MAX_NAMED + 1,
      5 * MAX_NAMED + 1,
      6,
    ])
    expect(statements.map(({ parameters }) => parameters[0])).toEqual(
      [0, MAX_NAMED, 2 * MAX_NAMED].map((i) => rows[i]!.id),
    )
    const won = swaps.won(rows, [result(1, 0b10n), result(0), result(1, 1n)])
    expect(won.flatMap((hasWon, i) => (hasWon ? [i] : []))).toEqual([1, 2 * MAX_NAMED])
  })

  test.each([undefined, 0b1n, 0b111n])(
    'an answer that names %s for two winners of three rows is OUTCOME_UNKNOWN, and the message says why',
    (insertId) => {
      const act = (): unknown => swaps.won([swap(A), swap(B), swap(C)], [result(2, insertId)])
      expect(act).toThrow(
        expect.objectContaining({
          code: 'OUTCOME_UNKNOWN',
          unknownOutcome: true,
          shard: 'scripted',
          message: expect.stringContaining('2 of 3 entities were written, and the answer does not name them'),
        }),
      )
    },
  )

  // Outside strict mode MySQL truncates a body that is longer than its type. MariaDB does not, and a longer type costs it time.
  test('a swap with a body of more than 65,535 bytes has another statement', () => {
    const textOf = (...rows: readonly EntityReplace[]): string => swaps.statements(rows, [])[0]!.query.sql
    expect(textOf(swap(A, new Uint8Array(65_535)), swap(B, null))).not.toMatch(LONG)
    expect(textOf(swap(A, null), swap(B, new Uint8Array(65_536)))).toMatch(LONG)
  })

  test('a swap compares the checksums of the base bodies that are given', () => {
    const given = { ...swap(B), baseBody: Buffer.from('base') }
    const [statement] = swaps.statements([swap(A), given, { ...swap(C), baseBody: null }], ['the epoch'])
    expect(statement!.query.sql).toContain(
      'e.version = n.base AND (n.base_sum IS NULL OR COALESCE(CRC32(`e`.`body`), -1) = n.base_sum)',
    )
    expect([4, 9, 14].map((place) => statement!.parameters[place])).toEqual([null, crc32('base'), -1])
    expect(swaps.statements([swap(A), swap(B)], [])[0]!.query.sql).not.toContain('base_sum')
  })

  test('each row of a swap has a bit of its own, and the first one clears the others', () => {
    const text = swaps.statements([swap(A), swap(B), swap(C)], [])[0]!.query.sql
    expect(text.match(/, [^,]+ AS bit/g)).toEqual([
      ', LAST_INSERT_ID(0) + 1 AS bit',
      ', 2 AS bit',
      ', 4 AS bit',
    ])
  })

  test.each([true, false])(
    'a swap casts each body, with a long type only if a body is long: %s',
    (isLong) => {
      const statement = swapStatement(2, { isLong, comparesBodies: false }, table).compile(db).sql
      expect(statement.match(/CAST\(\? AS BINARY\)/g)).toHaveLength(2)
      expect(statement.match(LONG) ?? []).toHaveLength(isLong ? 2 : 0)
    },
  )
})
