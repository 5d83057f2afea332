import { envelopeCodec } from '@looseleaf/codec'
import {
  LooseleafError,
  type EndedCall,
  type Observer,
  type SentStatement,
  type StoreEvent,
} from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { DataStore } from '../data-store.ts'
import type { DataStoreOptions } from '../types.ts'
import type { Trace } from './trace.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

async function open(
  observer?: Observer,
  onWarning: (message: string) => void = () => {},
  more: Partial<DataStoreOptions> = {},
) {
  const store = await DataStore.open({
    shards: memoryShards(1),
    indexes: [byName],
    migrate: true,
    queryTimeMs: 1,
    onWarning,
    observer,
    ...more,
  })
  onTestFinished(() => store.close())
  return store
}

const operations = ({ statements }: Pick<Trace, 'statements'>): string[] =>
  statements.map(({ operation }) => operation)

describe('a trace', () => {
  test('a trace has the calls of a piece of work and their statements', async () => {
    const store = await open()
    const trace = await store.trace(async (running) => {
      const { id } = await store.put({ name: 'ada' })
      await store.get(id)
      return running
    })
    expect(trace.calls.map(({ name, index, failure }) => [name, index, failure])).toEqual([
      ['put', undefined, undefined],
      ['get', undefined, undefined],
    ])
    // The local index row and the entity are one transaction.
    expect(trace.statements.map(({ operation, table }) => [operation, table])).toEqual([
      ['TRANSACTION', 'entities'],
      ['SELECT', 'entities'],
    ])
    expect(trace.statements.map(({ calls, others }) => [calls.map(({ name }) => name), others])).toEqual([
      [['put'], 0],
      [['get'], 0],
    ])
    expect(trace.calls.every(({ durationMs }) => durationMs! > 0)).toBe(true)
  })

  test('a trace has each statement that its calls share with others, and the number of these others', async () => {
    const store = await open()
    const ids = await Promise.all(['ada', 'bo', 'cy'].map(async (name) => (await store.put({ name })).id))
    const traceOf = (own: readonly string[]): Promise<Trace> =>
      store.trace(async (trace) => {
        await Promise.all(own.map((id) => store.get(id)))
        return trace
      })
    const [one, two] = await Promise.all([
      traceOf(ids.slice(0, 1)),
      traceOf(ids.slice(1)),
      store.get(ids[0]!),
    ])
    expect(one.statements).toHaveLength(1)
    expect(two.statements).toHaveLength(1)
    expect(two.statements[0]).toMatchObject({
      text: one.statements[0]!.text,
      sentAt: one.statements[0]!.sentAt,
    })
    expect([one.statements[0]!.others, two.statements[0]!.others]).toEqual([3, 2])
    expect(two.statements[0]!.calls).toEqual(two.calls)
  })

  test('a trace has nothing of other work', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'ada' })
    const trace = await store.trace(async (running) => {
      const own = store.get(id)
      // Later calls, outside of the trace, may run in the lane's loop that this call has started.
      await own
      return running
    })
    await Promise.all([store.get(id), store.put({ name: 'bo' })])
    await store.settled()
    expect(operations(trace)).toEqual(['SELECT'])
  })

  test('a trace ends with its work, without calls that continue in the background', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'ada' })
    const trace = await store.trace(async (running) => {
      await store.update(id, () => ({ name: 'bo' }))
      void store.get(id)
      return running
    })
    expect(operations(trace)).toEqual(['SELECT', 'TRANSACTION'])
    await store.settled()
    await store.get(id)
    expect(operations(trace)).toEqual(['SELECT', 'TRANSACTION'])
  })

  test('a trace contains the traces nested in it', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'ada' })
    const [outer, inner] = await store.trace(async (first) => {
      await store.get(id)
      return [first, await store.trace(async (second) => (await store.get(id), second))] as const
    })
    expect([outer.calls.length, inner.calls.length]).toEqual([2, 1])
    expect([outer.statements.length, inner.statements.length]).toEqual([2, 1])
  })

  test('a trace has the code of a failed call, and rethrows the error of the work', async () => {
    const store = await open()
    let trace: Trace | undefined
    const work = store.trace(async (running) => {
      trace = running
      await store.update(store.newId(), (bag) => bag)
    })
    await expect(work).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(trace!.calls).toMatchObject([{ name: 'update', failure: 'NOT_FOUND' }])
  })

  test('a trace counts the entities that its calls read by id and through an index', async () => {
    const store = await open(undefined, undefined, { queryTimeMs: 60_000 })
    const [ada, bo] = await Promise.all(['ada', 'bo'].map((name) => store.put({ name })))
    const numbers = await store.trace(async (trace) => {
      const counts: number[] = []
      const read = async (work: Promise<unknown>): Promise<void> => {
        await work
        counts.push(trace.entitiesRead)
      }
      await read(store.get(ada!.id))
      await read(store.get(store.newId()))
      await read(store.getMany([ada!.id, store.newId(), bo!.id]))
      await read(store.query(byName, { name: 'bo' }))
      await read(store.exists(ada!.id))
      return { counts, incomplete: trace.incompletePages }
    })
    expect(numbers).toEqual({ counts: [1, 1, 3, 4, 4], incomplete: 0 })
  })

  test('entities that another request reads do not count in a trace', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'ada' })
    const read = (): Promise<number> =>
      store.trace(async (trace) => {
        await store.get(id)
        return trace.entitiesRead
      })
    expect(await Promise.all([read(), read(), store.get(id).then(() => 1)])).toEqual([1, 1, 1])
  })

  test('a trace has an event for discarded rows', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'ada' })
    const { entityId, key } = {
      entityId: Buffer.from(id.replaceAll('-', ''), 'hex'),
      key: [Buffer.from('bo')],
    }
    const [entry] = store.context.catalog.current().indexes
    const { tableSpec } = await import('@looseleaf/index-engine/internal')
    await store.context.driver.shards[0]!.index(tableSpec(entry!)).upsert([{ key, entityId, version: 1 }])
    const trace = await store.trace(async (running) => (await store.query(byName, { name: 'bo' }), running))
    expect(trace.events).toEqual([{ kind: 'discarded', index: 'by_name', rows: 1 }])
    expect(trace.calls).toMatchObject([{ name: 'query', index: 'by_name' }])
  })

  test('a trace has a scan as one call with its pages', async () => {
    const store = await open()
    await store.putMany(['ada', 'bo', 'cy'].map((name) => ({ name })))
    const scanned = store.scan()
    const trace = await store.trace(async (running) => {
      for await (const entity of scanned) {
        expect(running.calls[0]).toMatchObject({ name: 'scan', durationMs: undefined })
        if (entity['name'] === 'ada') await store.get(entity.id)
      }
      return running
    })
    expect(trace.calls.map(({ name, failure }) => [name, failure])).toEqual([
      ['scan', undefined],
      ['get', undefined],
    ])
    expect(trace.calls.every(({ durationMs }) => durationMs! > 0)).toBe(true)
    const ofScan = trace.statements.filter(({ calls }) => calls[0]!.name === 'scan')
    // The page alone: it relies on the looks at the shard, which belong to no call.
    expect(operations({ statements: ofScan })).toEqual(['SELECT'])
    expect(trace.statements).toHaveLength(2)
  })

  test('a trace has only the pages of an older scan that are read within it', async () => {
    const store = await open()
    await store.putMany(Array.from({ length: 1_200 }, (_, number) => ({ name: `n${number}` })))
    const items = store.scan()[Symbol.asyncIterator]()
    const take = async (count: number): Promise<void> => {
      for (let taken = 0; taken < count; taken++) expect((await items.next()).done).toBe(false)
    }
    const trace = await store.trace(async (running) => (await take(1), running))
    await take(499)
    const second = await store.trace(async (running) => (await take(1), running))
    await take(1)
    expect(trace.statements).toHaveLength(1)
    expect(second.calls).toMatchObject([{ name: 'scan' }])
    expect(second.statements).toHaveLength(1)
    await items.return!()
    expect(second.calls[0]!.durationMs).toBeGreaterThan(0)
  })

  test('trace rejects an argument that is no function', async () => {
    const store = await open()
    await expect(store.trace(1 as never)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
})

describe('an observer', () => {
  function listening() {
    const reported: string[] = []
    const observer: Observer<number> = {
      callBegan: ({ name }) => (reported.push(`${name} began`), reported.length),
      callEnded: ({ name, failure }: EndedCall, token) =>
        void reported.push(`${name} of ${token} ended ${failure ?? 'well'}`),
      statementSent: ({ text, rows }: SentStatement, tokens) =>
        void reported.push(`${text.trim().split(/\s/)[0]} of ${tokens.join()}: ${rows}`),
      happened: (event: StoreEvent, tokens) => void reported.push(`${event.kind} of ${tokens.join()}`),
    }
    return { reported, observer: observer as Observer }
  }

  test('an observer receives calls and their statements', async () => {
    const { reported, observer } = listening()
    const store = await open(observer)
    const { id } = await store.put({ name: 'ada' })
    // Looks at the shard, which belongs to no call.
    await store.get(id)
    reported.length = 0
    await store.get(id)
    await store.update(store.newId(), (bag) => bag).catch(() => {})
    expect(reported).toEqual([
      'get began',
      'SELECT of 1: 1',
      'get of 1 ended well',
      'update began',
      'SELECT of 4: 0',
      'update of 4 ended NOT_FOUND',
    ])
  })

  test('an observer receives a scan from its first item to its end, including a break', async () => {
    const { reported, observer } = listening()
    const store = await open(observer)
    const made = await store.putMany([{ name: 'ada' }, { name: 'bo' }])
    // Looks at the shard, which belongs to no call.
    await store.getMany(made.map(({ id }) => id))
    reported.length = 0
    const scanned = store.scan()
    expect(reported).toEqual([])
    for await (const { id } of scanned) {
      await store.exists(id)
      break
    }
    expect(reported).toEqual([
      'scan began',
      'SELECT of 1: 2',
      'exists began',
      'SELECT of 3: 1',
      'exists of 3 ended well',
      'scan of 1 ended well',
    ])
  })

  test('an observer receives the failure of a scan', async () => {
    const { reported, observer } = listening()
    const store = await open(observer)
    await store.put({ name: 'ada' })
    reported.length = 0
    const read = async (): Promise<void> => {
      for await (const entity of store.scan({ signal: AbortSignal.abort() })) expect(entity).toBeUndefined()
    }
    await expect(read()).rejects.toMatchObject({ code: 'ABORTED' })
    expect(reported).toEqual(['scan began', 'scan of 1 ended ABORTED'])
  })

  test('an observer receives the number of calls that share a statement, and the tokens of those that it follows', async () => {
    const reported: unknown[] = []
    const observer: Observer<string> = {
      callBegan: ({ name }) => (name === 'get' ? undefined : name),
      callEnded: ({ name }, token) => void reported.push([name, token]),
      statementSent: ({ rows }, tokens, calls) => void reported.push([rows, tokens, calls]),
    }
    const store = await open(observer as Observer)
    const { id } = await store.put({ name: 'ada' })
    reported.length = 0
    await Promise.all([store.get(id), store.get(id), store.getMany([id])])
    expect(reported).toContainEqual([1, ['getMany'], 3])
    expect(reported.filter((one) => String(one).startsWith('get'))).toHaveLength(3)
    reported.length = 0
    await store.get(id)
    expect(reported).toEqual([
      [1, [], 1],
      ['get', undefined],
    ])
    reported.length = 0
    for await (const _ of store.scan()) await store.get(id)
    // A call within the loop of a scan is no part of the scan.
    expect(reported).toContainEqual([1, [], 1])
  })

  test('an observer receives statements that store shapes of the codec without the token of a call', async () => {
    const tokensOfCodecEntries: (readonly unknown[])[] = []
    const observer: Observer = {
      callBegan: ({ name }) => name,
      statementSent: ({ text }, tokens) =>
        void (/looseleaf_codec/.test(text) && tokensOfCodecEntries.push(tokens)),
    }
    const time = { ...systemTime, sleep: async () => {} }
    const store = await open(observer, undefined, { codec: envelopeCodec({ shapes: true }), time })
    tokensOfCodecEntries.length = 0
    for (let number = 0; number < 100; number++)
      await store.put({ name: `n${number}`, first: 1, second: 'two', third: [3] })
    await vi.waitFor(() => expect(tokensOfCodecEntries).not.toEqual([]))
    expect(tokensOfCodecEntries.flat()).toEqual([])
  })

  test('an observer receives an event when a statement is halved because of one row', async () => {
    const { reported, observer } = listening()
    const memory = await memoryShards(1).connect()
    const plan: FaultPlan = ({ table, operation, number }) =>
      table === 'entities' && operation === 'insert' && number === 1 ? { before: refuse } : undefined
    const refuse = (): never => {
      throw new LooseleafError('STATEMENT_FAILED', 'One of them is too long.')
    }
    const store = await open(observer, undefined, { shards: keepOpen(faultyDriver(memory, plan)) })
    await Promise.all([store.put({ name: 'ada' }), store.put({ name: 'bo' })])
    expect(reported.filter((line) => line.startsWith('halved'))).toEqual(['halved of 1,2'])
  })

  test('an observer that throws makes one warning, and calls succeed', async () => {
    const warnings: string[] = []
    const observer = { statementSent: () => fail(), callBegan: () => fail(), callEnded: () => fail() }
    const fail = (): never => {
      throw new Error('no room for this')
    }
    const store = await open(observer, (message) => void warnings.push(message))
    const { id } = await store.put({ name: 'ada' })
    expect(await store.get(id)).toMatchObject({ name: 'ada' })
    expect(warnings.filter((warning) => warning.includes('observer'))).toEqual([
      'The observer failed: Error: no room for this',
    ])
  })

  test('an observer without any of its methods is rejected', async () => {
    await expect(open({ statementsSent: () => {} } as Observer)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
})

test('an observer whose promise rejects makes one warning, without an unhandled rejection', async () => {
  const warnings: string[] = []
  const failing = async (): Promise<never> => {
    throw new Error('later')
  }
  const store = await open(
    { callBegan: failing, callEnded: failing as never },
    (text) => void warnings.push(text),
  )
  await store.put({ name: 'ada' })
  await store.put({ name: 'bo' })
  await new Promise(setImmediate)
  expect(warnings).toEqual(['The observer failed: Error: later'])
})
