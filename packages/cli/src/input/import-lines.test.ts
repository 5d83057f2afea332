import { randomUUID } from 'node:crypto'
import { LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex, type IndexDefinition } from '@looseleaf/index-engine'
import { DataStore, deriveId } from '@looseleaf/store'
import { faultyDriver, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import { describe, expect, onTestFinished, test } from 'vitest'
import { importLines, type ImportOptions, type RefusedLine } from './import-lines.ts'
import { linesFromText } from './line-selection.ts'
import type { Line } from './read-input.ts'

const COUNT = 3000

async function openStore(
  plan: FaultPlan = () => undefined,
  indexes: readonly IndexDefinition[] = [],
): Promise<DataStore> {
  const shards = memoryShards(2)
  const connect = async (): Promise<Driver> => faultyDriver(await shards.connect(), plan)
  const store = await DataStore.open({ shards: { shardCount: 2, connect }, indexes, migrate: true })
  onTestFinished(() => store.close())
  return store
}

/** Yields lines of entities with their line number as `n`. Calls `onRead` before each line. */
async function* lines(
  onRead: (number: number) => void = () => undefined,
): AsyncGenerator<Line, void, undefined> {
  for (let number = 1; number <= COUNT; number++) {
    onRead(number)
    yield { number, bytes: Buffer.from(JSON.stringify({ id: randomUUID(), n: number })) }
  }
}

function options(signal: AbortSignal = new AbortController().signal): ImportOptions {
  const all = [{ from: 1, to: Infinity }]
  return { onError: 'stop', lines: all, signal, onRefused: () => undefined, onProgress: () => undefined }
}

async function stored(store: DataStore): Promise<number[]> {
  const numbers: number[] = []
  for await (const entity of store.scan()) numbers.push(Number(entity['n']))
  return numbers.toSorted((a, b) => a - b)
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1)
}

test('an interrupted import returns the exact lines to continue with', async () => {
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

  const second = await importLines(store, lines(), { ...options(), lines: linesFromText(first.remaining!)! })
  expect(second).toMatchObject({ ended: 'all', nextLine: COUNT + 1 })
  expect(first.created + second.created).toBe(COUNT)
  expect(await stored(store)).toEqual(upTo(COUNT))
})

test('a signal that comes when the last line is stored interrupts nothing', async () => {
  const store = await openStore()
  const stop = new AbortController()
  const result = await importLines(store, plain(10), {
    ...options(stop.signal),
    onProgress: () => stop.abort(),
  })
  expect(result).toMatchObject({ created: 10, ended: 'all', remaining: undefined })
})

/** Rejects the inserts of shard 1 from the third statement on, until `isBack` is true. */
function failing(error: () => Error): { plan: FaultPlan; isBack: boolean } {
  const fault: { plan: FaultPlan; isBack: boolean } = {
    isBack: false,
    plan: ({ shard, table, operation, number }) =>
      !fault.isBack && shard === 1 && table === 'entities' && operation === 'insert' && number > 2
        ? {
            before() {
              throw error()
            },
          }
        : undefined,
  }
  return fault
}

const gone = (): Error => new LooseleafError('SHARD_UNAVAILABLE', 'shard 1 is gone.')

test('a shard that fails ends the import with the first line that is not in the store', async () => {
  const store = await openStore(failing(gone).plan)
  const result = await importLines(store, lines(), { ...options(), onError: 'skip' })
  const numbers = await stored(store)
  const firstMissing = upTo(COUNT).find((number, i) => numbers[i] !== number)!
  expect(result).toMatchObject({
    ended: 'failed',
    created: numbers.length,
    nextLine: firstMissing,
    // These lines have ids, so a second import of the later lines is harmless.
    remaining: `${firstMissing}-`,
    failure: { line: firstMissing, error: { code: 'SHARD_UNAVAILABLE' } },
  })
})

/** Yields lines without ids. */
async function* plain(count = COUNT): AsyncGenerator<Line, void, undefined> {
  for (let number = 1; number <= count; number++) yield { number, bytes: Buffer.from(`{"n":${number}}`) }
}

test('an import without ids that a failed shard ends returns the remaining lines, and their import stores none twice', async () => {
  const fault = failing(gone)
  const store = await openStore(fault.plan)
  const { remaining, nextLine, created } = await importLines(store, plain(), options())
  const numbers = await stored(store)
  expect(created).toBe(numbers.length)
  expect(numbers.some((number) => number > nextLine)).toBe(true)
  fault.isBack = true
  const second = await importLines(store, plain(), { ...options(), lines: linesFromText(remaining!)! })
  expect(second).toMatchObject({ ended: 'all', created: COUNT - created, remaining: undefined })
  expect(await stored(store)).toEqual(upTo(COUNT))
})

test('an import with ids derived from its lines can be repeated without a second entity', async () => {
  const fault = failing(gone)
  const store = await openStore(fault.plan)
  const idOf = (line: number): string => deriveId('import', ['may', line])
  const first = await importLines(store, plain(), { ...options(), idOf })
  expect(first.remaining).toBe(`${first.nextLine}-`)
  fault.isBack = true
  const second = await importLines(store, plain(), { ...options(), idOf })
  expect(second).toMatchObject({ created: COUNT - first.created, replaced: first.created })
  expect(await stored(store)).toEqual(upTo(COUNT))
})

const byN = defineIndex('by_n', { properties: { n: 'integer' }, shardOn: 'n' })

/** Texts that are refused: before the line is sent, and in its batch with lines behind it stored. */
const REFUSED = ['{"n":', '{"n":"no integer"}']

/** Yields lines. The lines with a number in `broken` have this text. */
async function* partlyBroken(
  broken: readonly number[],
  text: string,
  { withIds = false, onRead }: { withIds?: boolean; onRead?: (line: number) => void } = {},
): AsyncGenerator<Line, void, undefined> {
  for (let number = 1; number <= COUNT; number++) {
    onRead?.(number)
    const id = withIds ? { id: deriveId('test', [number]) } : {}
    const line = broken.includes(number) ? text : JSON.stringify({ ...id, n: number })
    yield { number, bytes: Buffer.from(line) }
  }
}

describe.each(REFUSED)('refused text %s', (text) => {
  test.each([true, false])('a continued import begins with the repaired lines (ids: %s)', async (withIds) => {
    const store = await openStore(undefined, [byN])
    const first = await importLines(store, partlyBroken([3, 5, 700], text, { withIds }), options())
    expect(first).toMatchObject({ ended: 'refused', nextLine: 3 })
    if (withIds) expect(first.remaining).toBe('3-')
    const remaining = linesFromText(first.remaining!)!
    const second = await importLines(store, partlyBroken([], text, { withIds }), {
      ...options(),
      lines: remaining,
    })
    expect(second).toMatchObject({ ended: 'all', refused: 0, remaining: undefined })
    expect(first.created + second.created).toBe(COUNT)
    expect(await stored(store)).toEqual(upTo(COUNT))
  })

  test('an import that a failed shard ends lists its refused lines, too', async () => {
    const fault = failing(gone)
    const store = await openStore(fault.plan, [byN])
    const first = await importLines(store, partlyBroken([400], text), options())
    expect(first.refused).toBe(1)
    fault.isBack = true
    const remaining = linesFromText(first.remaining!)!
    await importLines(store, partlyBroken([], text), { ...options(), lines: remaining })
    expect(await stored(store)).toEqual(upTo(COUNT))
  })

  test('an import that Ctrl-C ends lists its refused lines, too', async () => {
    const store = await openStore(undefined, [byN])
    const stop = new AbortController()
    const first = await importLines(store, partlyBroken([420], text), {
      ...options(stop.signal),
      onRefused: () => stop.abort(),
    })
    expect(first).toMatchObject({ ended: 'interrupted', refused: 1 })
    const remaining = linesFromText(first.remaining!)!
    await importLines(store, partlyBroken([], text), { ...options(), lines: remaining })
    expect(await stored(store)).toEqual(upTo(COUNT))
  })

  test('an import with skip leaves refused lines out, and continues behind them after Ctrl-C', async () => {
    const store = await openStore(undefined, [byN])
    const stop = new AbortController()
    const onRead = (line: number): void => {
      if (line === 1700) stop.abort()
    }
    const broken = partlyBroken([3], text, { onRead })
    const first = await importLines(store, broken, { ...options(stop.signal), onError: 'skip' })
    expect(first).toMatchObject({ ended: 'interrupted', refused: 1, remaining: `${first.nextLine}-` })
    expect(first.nextLine).toBeGreaterThan(3)
  })

  test('a refused line keeps the id that it was selected with', async () => {
    const store = await openStore(undefined, [byN])
    const id = randomUUID()
    const selected = linesFromText(`3=${id},8,9-`)!
    const { remaining } = await importLines(store, partlyBroken([3], text), { ...options(), lines: selected })
    expect(remaining).toMatch(new RegExp(`^3=${id},`))
  })
})

test('an import stores only the selected lines, and stops reading behind the last one', async () => {
  const store = await openStore()
  let read = 0
  const result = await importLines(
    store,
    lines((number) => void (read = number)),
    { ...options(), lines: linesFromText('2,5-6,1000')! },
  )
  expect(result).toMatchObject({ ended: 'all', created: 4 })
  expect(await stored(store)).toEqual([2, 5, 6, 1000])
  expect(read).toBe(1001)
})

test('a line with an unknown outcome and without an id remains with the id that it was given', async () => {
  let isGone = false
  const store = await openStore(({ operation }) => {
    if (operation === 'insert' && !isGone) {
      isGone = true
      return {
        after() {
          throw unknownOutcome()
        },
      }
    }
    return operation === 'read' && isGone
      ? {
          before() {
            throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is gone.')
          },
        }
      : undefined
  })
  const { remaining, failure } = await importLines(store, plain(1), options())
  const { entity } = failure!.error as LooseleafError
  expect(remaining).toBe(`1=${entity},2-`)
  isGone = false
  const again = await openStore(() => undefined)
  await importLines(again, plain(1), { ...options(), lines: linesFromText(remaining!)! })
  expect(await again.get(entity!)).toMatchObject({ n: 1 })
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

test('an import reads at most a few batches ahead of the stored lines', async () => {
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
  // In these turns of the event loop, an unbounded import would read more lines.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(read).toBe(500)
  open()
  expect(await importing).toMatchObject({ created: COUNT, ended: 'all' })
})
