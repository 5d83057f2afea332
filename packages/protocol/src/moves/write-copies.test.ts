import { formatId, LooseleafError } from '@looseleaf/core'
import type { CopiedRow, KeptCopy } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { sizeClass } from '../throttle/throttle.ts'
import type { MoveWork } from './move-work.ts'
import { batchesOf, copiesOf, fenced, receive, type ChainedTarget, type Copyable } from './write-copies.ts'

const MB = 1024 * 1024

function rowOf(addedId: number, bodyBytes: number, body?: Uint8Array | null): Copyable {
  return { id: Buffer.alloc(16, addedId), version: 1, updated: addedId, addedId, bodyBytes, body }
}

const placesOf = (rows: readonly Copyable[]): readonly (readonly number[])[] =>
  Array.from(batchesOf(rows), (batch) => batch.map(({ addedId }) => addedId))

test('no rows are in no batch', () => {
  expect(placesOf([])).toEqual([])
})

test('a batch has up to 500 rows', () => {
  const rows = Array.from({ length: 1_001 }, (_, i) => rowOf(i, 1))
  expect(placesOf(rows).map(({ length }) => length)).toEqual([500, 500, 1])
  expect(placesOf(rows).flat()).toEqual(rows.map(({ addedId }) => addedId))
})

test('a batch has bodies of up to 2 MiB, and a longer body is alone', () => {
  expect(placesOf([rowOf(1, MB), rowOf(2, MB), rowOf(3, 1)])).toEqual([[1, 2], [3]])
  expect(placesOf([rowOf(1, MB), rowOf(2, MB + 1), rowOf(3, MB - 1)])).toEqual([[1], [2, 3]])
  expect(placesOf([rowOf(1, 3 * MB), rowOf(2, 3 * MB), rowOf(3, 0)])).toEqual([[1], [2], [3]])
})

test('rows with their bodies, also tombstones, come before those without', () => {
  const body = Buffer.from('x')
  const rows = [rowOf(1, 1), rowOf(2, 1, body), rowOf(3, 0, null), rowOf(4, 1)]
  expect(placesOf(rows)).toEqual([
    [2, 3],
    [1, 4],
  ])
})

test('a copy without an answer is STALE_EPOCH, and other errors stay as they are', async () => {
  const lost = new LooseleafError('OUTCOME_UNKNOWN', 'The answer was lost.', { shard: 'shard 1' })
  await expect(fenced(() => Promise.reject(lost))).rejects.toMatchObject({
    code: 'STALE_EPOCH',
    message: 'The answer was lost. The copy is sent again under another epoch.',
    shard: 'shard 1',
    cause: lost,
  })
  for (const error of [
    new LooseleafError('SHARD_BUSY', 'Busy.'),
    Object.assign(new Error('A mistake.'), { unknownOutcome: true }),
  ])
    await expect(fenced(() => Promise.reject(error))).rejects.toBe(error)
  expect(await fenced(async () => 7)).toBe(7)
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Work on a move between two shards with these tables. The kinds of its statements are added to `kinds`. */
function workBetween(source: object, target: object, kinds: string[]): MoveWork {
  return {
    context: { driver: { shards: [source, target] } },
    move: { from: 0, to: 1 },
    throttle: {
      async send<T>(_: number, kindOf: (answer: T) => string, statement: () => Promise<T>): Promise<T> {
        const answer = await statement()
        kinds.push(kindOf(answer))
        return answer
      },
    },
  } as unknown as MoveWork
}

test('bodies are read again until their rows are as in the page, or were replaced on disk', async () => {
  const [stays, replaced, gone, back] = [1, 2, 3, 4].map((n) => rowOf(n, 5)) as [
    Copyable,
    Copyable,
    Copyable,
    Copyable,
  ]
  const found = ({ id, addedId }: Copyable, version: number, body: Uint8Array | null): CopiedRow =>
    ({ id, version, body, addedId }) as CopiedRow
  const calls: string[] = []
  const namesOf = (ids: readonly Uint8Array[]): string => ids.map(([first]) => first).join()
  const answers = [
    [
      found(stays, 1, Buffer.from('12345')),
      found(replaced, 2, null),
      undefined,
      found(back, 2, Buffer.from('1')),
    ],
    [found(back, 1, Buffer.from('1234567'))],
  ]
  const entities = {
    async read(ids: readonly Uint8Array[]) {
      calls.push(`read ${namesOf(ids)}`)
      return answers.shift()
    },
    async readVersions(ids: readonly Uint8Array[]) {
      calls.push(`versions ${namesOf(ids)}`)
      // A crash has undone the replacement of the last one.
      return [2, undefined, 1]
    },
  }
  const flush = async (): Promise<void> => {
    await turn()
    calls.push('flushed')
  }
  const kinds: string[] = []
  const copies = await copiesOf(workBetween({ entities, flush }, {}, kinds), [stays, replaced, gone, back])
  expect(copies).toMatchObject([
    { id: stays.id, version: 1, body: Buffer.from('12345') },
    { id: back.id, version: 1, body: Buffer.from('1234567') },
  ])
  expect(calls).toEqual(['read 1,2,3,4', 'flushed', 'versions 2,3,4', 'read 4'])
  expect(kinds).toEqual([`copy read ${sizeClass(6)}`, `copy read ${sizeClass(7)}`])
})

test('a batch is written behind the last copy that was answered', async () => {
  const sent: unknown[] = []
  const stale = new LooseleafError('STALE_EPOCH', 'The epoch is another.')
  let isStale = false
  const entities = {
    async receive(rows: readonly CopiedRow[], { after }: { readonly after: KeptCopy | undefined }) {
      await turn()
      sent.push([rows.map(({ id }) => id[0]), after && { ...after, id: after.id[0] }])
      if (isStale) throw stale
    },
  }
  const kinds: string[] = []
  const work = workBetween({}, { entities }, kinds)
  const copyOf = (n: number): CopiedRow => ({ id: Buffer.alloc(16, n), version: 1, body: null })
  const target: ChainedTarget = { epoch: 3, updated: 7, chain: { last: undefined } }
  await receive(work, [], target)
  await receive(work, [copyOf(1), copyOf(2)], target)
  const last = { id: formatId(Buffer.alloc(16, 2)), updated: 7 }
  expect(target.chain.last).toEqual(last)
  isStale = true
  await expect(receive(work, [copyOf(3)], { ...target, updated: 8 })).rejects.toBe(stale)
  expect(target.chain.last).toEqual(last)
  expect(sent).toEqual([
    [[1, 2], undefined],
    [[3], { id: 2, updated: 7 }],
  ])
  expect(kinds).toEqual([`receive ${sizeClass(2)}`])
})
