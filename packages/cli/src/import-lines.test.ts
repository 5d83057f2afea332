import { randomUUID } from 'node:crypto'
import { LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { importLines, type ImportOptions, type RefusedLine } from './import-lines.ts'
import type { Line } from './read-input.ts'

const COUNT = 3000

async function openStore(plan: FaultPlan = () => undefined): Promise<DataStore> {
  const shards = memoryShards(2)
  const connect = async (): Promise<Driver> => faultyDriver(await shards.connect(), plan)
  const store = await DataStore.open({ shards: { shardCount: 2, connect }, migrate: true })
  onTestFinished(() => store.close())
  return store
}

/** Lines of entities `n` from 1, which says its line; `onRead` is told of each before it is given. */
async function* lines(
  onRead: (number: number) => void = () => undefined,
): AsyncGenerator<Line, void, undefined> {
  for (let number = 1; number <= COUNT; number++) {
    onRead(number)
    yield { number, bytes: Buffer.from(JSON.stringify({ id: randomUUID(), n: number })) }
  }
}

function options(signal: AbortSignal = new AbortController().signal): ImportOptions {
  return { onError: 'stop', fromLine: 1, signal, onRefused: () => undefined, onProgress: () => undefined }
}

async function stored(store: DataStore): Promise<number[]> {
  const numbers: number[] = []
  for await (const entity of store.scan()) numbers.push(Number(entity['n']))
  return numbers.toSorted((a, b) => a - b)
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1)
}

test('an interrupted import says exactly where to go on', async () => {
  const store = await openStore()
  const stop = new AbortController()
  const first = await importLines(
    store,
    lines((number) => {
      if (number === 1700) stop.abort()
    }),
    options(stop.signal),
  )
  expect(first.ended).toBe('interrupted')
  expect(first.nextLine).toBeLessThanOrEqual(1701)
  expect(await stored(store)).toEqual(upTo(first.nextLine - 1))

  const second = await importLines(store, lines(), { ...options(), fromLine: first.nextLine })
  expect(second).toMatchObject({ ended: 'all', nextLine: COUNT + 1 })
  expect(first.created + second.created).toBe(COUNT)
  expect(await stored(store)).toEqual(upTo(COUNT))
})

test('a shard that fails ends the import with the first line that is not in the store', async () => {
  const store = await openStore(({ shard, table, operation, number }) =>
    shard === 1 && table === 'entities' && operation === 'insert' && number > 2
      ? {
          before() {
            throw new LooseleafError('SHARD_UNAVAILABLE', 'shard 1 is gone.')
          },
        }
      : undefined,
  )
  const failed = importLines(store, lines(), { ...options(), onError: 'skip' })
  await expect(failed).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  const numbers = await stored(store)
  const firstMissing = upTo(COUNT).find((number, i) => numbers[i] !== number)
  await expect(failed).rejects.toThrow(
    `Line ${firstMissing}: shard 1 is gone. Go on with --from-line ${firstMissing}.`,
  )
})

test('a line without an id whose outcome is unknown is told with the id that it has to be given', async () => {
  let isLost = false
  const store = await openStore(({ operation }) => {
    if (operation === 'insert' && !isLost) {
      isLost = true
      return {
        after() {
          throw unknownOutcome()
        },
      }
    }
    return operation === 'read' && isLost
      ? {
          before() {
            throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is gone.')
          },
        }
      : undefined
  })
  const one = async function* (): AsyncGenerator<Line, void, undefined> {
    yield { number: 1, bytes: Buffer.from('{"n":1}') }
  }
  const failed = importLines(store, one(), options())
  await expect(failed).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    retryable: false,
    entity: expect.any(String),
    message: expect.stringMatching(/Write the id into the line, then go on with --from-line 1\.$/),
  })
})

test('integers are stored to the last digit, or refused with their line and property', async () => {
  const store = await openStore()
  const texts = ['{"n":9007199254740993}', '{"in":[{"n":18446744073709551616}]}', '{"n":9007199254740991}']
  const numbered = async function* (): AsyncGenerator<Line, void, undefined> {
    for (const [i, text] of texts.entries()) yield { number: i + 1, bytes: Buffer.from(text) }
  }
  const refused: RefusedLine[] = []
  await importLines(store, numbered(), {
    ...options(),
    onError: 'skip',
    onRefused: (line) => refused.push(line),
  })
  expect(refused).toEqual([
    { line: 2, code: 'BAD_PROPERTY', message: expect.stringMatching(/^in\[0\]\.n cannot be stored/) },
  ])
  const found: unknown[] = []
  for await (const entity of store.scan()) found.push(entity['n'])
  expect(new Set(found)).toEqual(new Set([9007199254740993n, 9007199254740991]))
})

test('no more lines are read than a few batches ahead of what is stored', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const store = await openStore(({ operation }) =>
    operation === 'insert' ? { before: () => opened } : undefined,
  )
  let read = 0
  const { promise: full, resolve: reached } = Promise.withResolvers<void>()
  const importing = importLines(
    store,
    lines((number) => {
      read = number
      if (number === 500) reached()
    }),
    options(),
  )
  await full
  // Whatever could still be read without an answer is read in these turns.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(read).toBe(500)
  open()
  expect(await importing).toMatchObject({ created: COUNT, ended: 'all' })
})
