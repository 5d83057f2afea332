import type { HintedQuery, PacketAnswer } from '@looseleaf/driver-kysely/internal'
import { CompiledQuery } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { sessionError } from '../errors/errors.ts'
import { tokenStatement } from '../settings/session-token.ts'
import type { ClientAnswer, ClientConnection, ClientResult } from './mysql2.ts'
import { createPackets, type PacketUse } from './packets.ts'

const token = Buffer.alloc(8, 7)
const CHECK = tokenStatement(token)
const COMMITTED = 2
const OPEN = 3
const MAX_BYTES = 4_000

const A = { ...CompiledQuery.raw(' A ? ', [1]), write: true } as HintedQuery
const B = { ...CompiledQuery.raw('B', []), write: true } as HintedQuery

/** The server answers the statements of a packet with these statuses, and ends it with this error, if any. */
let statuses: readonly number[]
let failure: unknown
let use: PacketUse
/** Texts that were sent. */
let sent: string[]
/** Descriptions of the texts for listeners, and whether each writes. */
let told: [string, boolean][]
let results: ClientResult[]
let isUsable: boolean
let destroyed: number
/** Whether the server answers a ROLLBACK by itself, and the answer. */
let rollsBack: boolean
let rollBack: (error?: unknown) => void

beforeEach(() => {
  statuses = [OPEN, OPEN, OPEN, COMMITTED]
  failure = null
  use = { isRefused: false }
  sent = []
  told = []
  results = []
  isUsable = true
  destroyed = 0
  rollsBack = true
})

function packets(isDirect = true): (queries: readonly HintedQuery[]) => Promise<PacketAnswer | undefined> {
  const client: Pick<ClientConnection, 'queryAll' | 'query'> = {
    queryAll({ sql }, onAnswer, done) {
      sent.push(sql)
      for (const [i, serverStatus] of statuses.entries())
        onAnswer({ affectedRows: 10 + i, insertId: 20 + i, serverStatus })
      done(failure, { result: [], status: COMMITTED })
    },
    query({ sql }, done) {
      sent.push(sql)
      rollBack = (error) => done(error, { result: [], status: COMMITTED })
      if (rollsBack) rollBack()
    },
  }
  return createPackets({
    client,
    token,
    maxPacketBytes: MAX_BYTES,
    use,
    isDirect,
    ask: (description, writes, begin) =>
      new Promise((resolve, reject) => {
        told.push([description(), writes])
        begin((error: unknown, { result }: ClientAnswer = { result: [], status: undefined }) => {
          if (error !== undefined) return reject(error as Error)
          results.push(result)
          resolve(result)
        })
      }),
    isUsable: () => isUsable,
    destroy: () => void destroyed++,
  })
}

const serverError = (errno: number): Error =>
  Object.assign(new Error('refused'), { errno, sqlState: 'HY000' })
const LOCK_WAIT = serverError(1205)
const NOT_ALLOWED = serverError(1148)

test('a packet has the results of its statements alone, and its changed rows together', async () => {
  expect(await packets()([A, B])).toEqual({
    results: [
      { rows: [], numAffectedRows: 11n, insertId: 21n },
      { rows: [], numAffectedRows: 12n, insertId: 22n },
    ],
  })
  expect(sent).toEqual(['START TRANSACTION;  A 1 ; B; COMMIT'])
  expect(told).toEqual([['START TRANSACTION; A ?; B; COMMIT', true]])
  expect(results).toEqual([{ affectedRows: 10 + 11 + 12 + 13, insertId: 0 }])
  expect([destroyed, use.isRefused]).toEqual([0, false])
})

test('a packet behind a pooler checks the token after its COMMIT', async () => {
  await packets(false)([B])
  expect(sent).toEqual([`START TRANSACTION; B; COMMIT; ${CHECK}`])
})

describe('a packet that is too long', () => {
  const ofLength = (length: number): HintedQuery =>
    ({ ...CompiledQuery.raw('x'.repeat(length), []), write: true }) as HintedQuery
  /** Bytes that are added to the statements of a packet. */
  const OVERHEAD = 1024

  test('a packet is not sent from the limit on', async () => {
    statuses = [OPEN, OPEN, COMMITTED]
    expect(await packets()([ofLength(MAX_BYTES - OVERHEAD)])).toBeUndefined()
    expect(sent).toEqual([])
    expect(await packets()([ofLength(MAX_BYTES - OVERHEAD - 1)])).toHaveProperty('results')
  })

  test('the statements of a packet count together, and bytes count twice', async () => {
    statuses = [OPEN, OPEN, OPEN, COMMITTED]
    const half = (MAX_BYTES - OVERHEAD) / 2
    expect(await packets()([ofLength(half), ofLength(half)])).toBeUndefined()
    expect(await packets()([ofLength(half), ofLength(half - 1)])).toHaveProperty('results')
    const withBytes = (length: number): HintedQuery =>
      ({ ...CompiledQuery.raw('A ?', [Buffer.alloc(length)]), write: true }) as HintedQuery
    statuses = [OPEN, OPEN, COMMITTED]
    expect(await packets()([withBytes(half - 1)])).toBeUndefined()
    expect(await packets()([withBytes(half - 2)])).toHaveProperty('results')
  })

  test('a packet whose text is longer than was estimated is not sent', async () => {
    // Numbers count as nothing.
    const ofDigits = (digits: number): HintedQuery =>
      ({ ...CompiledQuery.raw('?', [BigInt('7'.repeat(digits))]), write: true }) as HintedQuery
    const digits = MAX_BYTES - 'START TRANSACTION; ; COMMIT'.length
    statuses = [OPEN, OPEN, COMMITTED]
    expect(await packets()([ofDigits(digits)])).toBeUndefined()
    expect(sent).toEqual([])
    expect(await packets()([ofDigits(digits - 1)])).toHaveProperty('results')
  })
})

describe('a packet that fails', () => {
  test('the answers before the failure tell its place, and the transaction is rolled back between checks of the token', async () => {
    statuses = [OPEN, OPEN]
    failure = LOCK_WAIT
    rollsBack = false
    let answer: PacketAnswer | undefined
    const sending = packets()([A, B]).then((found) => (answer = found))
    await new Promise((resolve) => setImmediate(resolve))
    // The connection is not free before the end of the ROLLBACK.
    expect(answer).toBeUndefined()
    rollBack()
    await sending
    expect(answer).toEqual({ error: LOCK_WAIT, place: 1, mayBeCommitted: true })
    expect(sent.slice(1)).toEqual([`${CHECK}; ROLLBACK; ${CHECK}`])
    expect(told[1]).toEqual(['ROLLBACK', false])
    expect([destroyed, use.isRefused]).toEqual([0, false])
  })

  test('the connection is closed if the transaction cannot be rolled back', async () => {
    failure = LOCK_WAIT
    rollsBack = false
    const sending = packets()([A, B])
    await new Promise((resolve) => setImmediate(resolve))
    rollBack(new Error('lost'))
    expect(await sending).toMatchObject({ error: LOCK_WAIT })
    expect(destroyed).toBe(1)
  })

  test('a packet behind a pooler, or on a connection that was lost, is not rolled back', async () => {
    failure = LOCK_WAIT
    await packets(false)([A, B])
    expect([sent.length, destroyed]).toEqual([1, 1])
    isUsable = false
    await packets()([A, B])
    expect([sent.length, destroyed]).toEqual([2, 1])
  })

  test('a server that refuses packets outright has run nothing, and gets no further one', async () => {
    statuses = []
    failure = NOT_ALLOWED
    expect(await packets()([A, B])).toBeUndefined()
    failure = null
    expect(await packets()([A, B])).toBeUndefined()
    expect([sent.length, destroyed, use.isRefused]).toEqual([1, 0, true])
  })

  test('an error before the first answer, and a refusal after it, may be of a packet that was run', async () => {
    statuses = []
    failure = LOCK_WAIT
    expect(await packets()([A, B])).toMatchObject({ error: LOCK_WAIT, place: -1 })
    statuses = [OPEN]
    failure = NOT_ALLOWED
    expect(await packets()([A, B])).toMatchObject({ error: NOT_ALLOWED, place: 0 })
    expect(use.isRefused).toBe(false)
  })

  test('a packet without all of its answers fails, and is the last one', async () => {
    statuses = [OPEN, OPEN, OPEN]
    failure = undefined
    expect(await packets()([A, B])).toMatchObject({
      error: { code: 'ANSWERS_MISSING' },
      mayBeCommitted: true,
    })
    expect(use.isRefused).toBe(true)
  })

  test.each([
    [0, false],
    [1, false],
    [2, true],
  ])('a packet that meets another session after %i answers is unsure: %s', async (answers, unsure) => {
    statuses = Array.from({ length: answers }, () => OPEN)
    failure = sessionError('another token', false)
    expect(await packets()([A, B])).toMatchObject({
      error: { code: 'OTHER_SESSION', reason: 'another token', unsure },
      place: answers - 1,
    })
    expect(sent).toHaveLength(1)
  })
})

test.each([
  ['its START', [COMMITTED, OPEN, OPEN, COMMITTED]],
  ['its last statement', [OPEN, OPEN, COMMITTED, COMMITTED]],
  ['its COMMIT', [OPEN, OPEN, OPEN, OPEN]],
])('a packet whose statuses differ at %s fails, and its connection is closed', async (_, found) => {
  statuses = found
  expect(await packets()([A, B])).toMatchObject({
    error: { code: 'OTHER_SESSION', unsure: true },
    mayBeCommitted: true,
  })
  expect([destroyed, use.isRefused]).toEqual([1, false])
})
