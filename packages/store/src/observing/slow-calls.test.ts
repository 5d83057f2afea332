import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import type { DataStoreOptions } from '../types.ts'
import { createSlowCalls, logStatement, type CallLog, type SlowCall } from './slow-calls.ts'

let now: number
let reported: SlowCall[]
let warnings: string[]
const onWarning = (message: string): void => void warnings.push(message)

beforeEach(() => {
  now = 0
  reported = []
  warnings = []
})

const call = { name: 'query', index: 'by_name', startedAt: 1, durationMs: 812.4, failure: undefined }

/** Makes statements that took 1 ms, 2 ms and so on. */
function logOf(count: number): CallLog {
  const log: CallLog = { statements: [], more: 0 }
  const statement = { shard: 's0', text: 'SELECT a FROM `index_by_name` WHERE b = ?', rows: 20, sentAt: 2 }
  for (let ms = 1; ms <= count; ms++)
    logStatement(log, { ...statement, durationMs: ms, failure: undefined }, 3)
  return log
}

describe('slow calls', () => {
  const make = (onSlowCall?: (slow: SlowCall) => unknown) =>
    createSlowCalls({ slowCallMs: 500, onSlowCall, onWarning, now: () => now })

  test('a call that takes longer than slowCallMs is reported with its statements', () => {
    const slow = make((each) => reported.push(each))
    slow.ended({ ...call, durationMs: 500 }, logOf(1))
    slow.ended(call, logOf(1))
    expect(reported).toEqual([
      {
        ...call,
        statements: [
          {
            shard: 's0',
            operation: 'SELECT',
            table: 'index_by_name',
            rows: 20,
            sentAt: 2,
            durationMs: 1,
            failure: undefined,
            others: 3,
          },
        ],
        moreStatements: 0,
        omitted: 0,
      },
    ])
    expect(warnings).toEqual([])
  })

  test('ten slow calls are reported within a minute, and the next report counts those left out', () => {
    const slow = make((each) => reported.push(each))
    for (now = 0; now < 60_000; now += 1_000) slow.ended(call, logOf(0))
    expect(reported).toHaveLength(10)
    for (; now < 62_000; now += 1_000) slow.ended(call, logOf(0))
    expect(reported.map(({ omitted }) => omitted)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50, 0])
  })

  test('a slow call has its first 100 statements and the number of the others', () => {
    const slow = make((each) => reported.push(each))
    slow.ended(call, logOf(130))
    expect([reported[0]!.statements.length, reported[0]!.moreStatements]).toEqual([100, 30])
  })

  test('the warning of a slow call has its longest statements', () => {
    const slow = make()
    slow.ended(call, logOf(7))
    slow.ended({ ...call, index: undefined, failure: 'DEADLINE' }, logOf(0))
    const shown = [7, 6, 5, 4, 3].map((ms) => `SELECT index_by_name on s0: ${ms} ms, 20 rows`).join('; ')
    expect(warnings).toEqual([
      `query of by_name took 812 ms, more than slowCallMs of 500. Its statements: ${shown}; 2 more.`,
      'query took 812 ms, more than slowCallMs of 500, and failed with DEADLINE. Its statements: none.',
    ])
    for (let more = 0; more < 10; more++) slow.ended(call, logOf(0))
    now = 60_000
    slow.ended(call, logOf(0))
    expect(warnings).toHaveLength(11)
    expect(warnings.at(-1)).toMatch(/ Slow calls before it that were left out: 2\.$/)
  })

  test('an exception in onSlowCall becomes a warning', async () => {
    const full = new Error('full')
    make(() => {
      throw full
    }).ended(call, logOf(0))
    make(() => Promise.reject(full)).ended(call, logOf(0))
    await Promise.resolve()
    expect(warnings).toEqual(['onSlowCall failed: Error: full', 'onSlowCall failed: Error: full'])
  })
})

describe('slow calls of a store', () => {
  const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

  async function open(options: Partial<DataStoreOptions>): Promise<DataStore> {
    const shards = memoryShards(1)
    const store = await DataStore.open({ shards, indexes: [byName], migrate: true, onWarning, ...options })
    onTestFinished(() => store.close())
    return store
  }
  const onSlowCall = (slow: SlowCall): void => void reported.push(slow)

  test('a slow call has only its own statements, and no values', async () => {
    const store = await open({ slowCallMs: 0, onSlowCall })
    const { id } = await store.put({ name: 'very secret' })
    await Promise.all([store.get(id), store.get(id)])
    await store.query(byName, { name: 'very secret' })
    const tables = reported.map(({ name, index, statements }) => [
      name,
      index,
      statements.map(({ operation, table, rows, others }) => [operation, table, rows, others]),
    ])
    expect(tables).toEqual([
      ['put', undefined, [['TRANSACTION', 'entities', expect.any(Number), 0]]],
      ['get', undefined, [['SELECT', 'entities', 1, 1]]],
      ['get', undefined, [['SELECT', 'entities', 1, 1]]],
      ['query', 'by_name', expect.arrayContaining([['SELECT', 'index_by_name', 1, 0]])],
    ])
    expect(JSON.stringify(reported)).not.toMatch(/secret/)
    expect(JSON.stringify(reported)).not.toContain(id)
  })

  test('quick calls and scans are not reported', async () => {
    const store = await open({ slowCallMs: 60_000, onSlowCall })
    await store.put({ name: 'ada' })
    const all = await open({ slowCallMs: 0, onSlowCall })
    for await (const entity of all.scan()) expect(entity).toBeUndefined()
    expect(reported).toEqual([])
  })

  test('slow calls make warnings by default', async () => {
    const store = await open({ slowCallMs: 0 })
    await store.put({ name: 'ada' })
    expect(warnings.filter((warning) => warning.includes('slowCallMs'))).toEqual([
      expect.stringMatching(/^put took \d+ ms, more than slowCallMs of 0\. Its statements: TRANSACTION /),
    ])
  })

  test('invalid options of slow calls are rejected', async () => {
    for (const options of [{ slowCallMs: -1 }, { slowCallMs: 1, onSlowCall: 1 as never }, { onSlowCall }])
      await expect(open(options)).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringMatching(/slowCallMs|onSlowCall/),
      })
  })
})
