import type { EntityReplace } from '@looseleaf/core/internal'
import { beforeEach, describe, expect, test } from 'vitest'
import { scriptedShard, type ScriptedShard, type Step } from '../../test/scripted-shard.ts'
import type { Row } from '../database/session.ts'

const epoch = 1

const [A, B] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)]
const text = Buffer.from('text')

const swap = (id: Buffer): EntityReplace => ({ id, base: 1, version: 2, body: text })

const won = <T>(value: T): PromiseSettledResult<T> => ({ status: 'fulfilled', value })

const SWAP = 'SWAP'
const EPOCH = 'SELECT epoch'
const here: Step = [EPOCH, { rows: [{ epoch }] }]

let shard: ScriptedShard
beforeEach(() => {
  shard = scriptedShard()
})

const replace = (rows: readonly EntityReplace[], ...steps: readonly Step[]) =>
  shard.act(steps, () => shard.entities.replace(rows, { epoch }))

describe('replacements of several rows', () => {
  test('a batch that changed no row has lost all of them, and only the epoch is read', async () => {
    const outcome = await replace([swap(A), swap(B)], [SWAP, { rows: [] }], here)
    expect(outcome).toEqual(won([false, false]))
    expect(shard.sent.map(({ write }) => write)).toEqual([true, false])
  })

  test('a batch locks rows in the order of their ids, and answers in the order of the call', async () => {
    const outcome = await replace([swap(B), swap(A)], [`${SWAP} 2 rows`, { rows: [{ id: B }] }])
    expect(outcome).toEqual(won([true, false]))
    expect(shard.sent.at(-1)).toMatchObject({ parameters: [A, B, epoch] })
  })

  test('a replacement of one row does not use the batched swap', async () => {
    expect(await replace([swap(A)], ['UPDATE "entities"', { changed: 1 }])).toEqual(won([true]))
  })

  test('a write of more than 500 rows is rejected', async () => {
    const rows = Array.from({ length: 501 }, () => swap(A))
    const refused = { status: 'rejected', reason: { code: 'BAD_OPTION' } }
    expect(await replace(rows)).toMatchObject(refused)
    expect(await shard.act([], () => shard.entities.insert(rows, { epoch }))).toMatchObject(refused)
  })
})

describe('writes with a stale epoch', () => {
  const refused = {
    status: 'rejected',
    reason: {
      code: 'STALE_EPOCH',
      shard: 'scripted',
      message: expect.stringMatching(/^scripted: the catalog has another epoch.*nothing was written\.$/),
    },
  }

  test.each<[state: string, rows: readonly Row[]]>([
    ['has another epoch', [{ epoch: 2 }]],
    ['has no row', []],
  ])('a replacement is rejected if all its rows lost and the catalog %s', async (_, rows) => {
    const outcome = await replace([swap(A)], ['UPDATE', { changed: 0 }], [EPOCH, { rows }])
    expect(outcome).toMatchObject(refused)
  })

  const insert = (...steps: readonly Step[]) =>
    shard.act([['INSERT', { fault: 'fence-refused' }], ...steps], () =>
      shard.entities.insert([{ id: A, version: 1, body: text }], { epoch }),
    )

  const one = (...steps: readonly Step[]) =>
    shard.act(steps, () => shard.entities.insert([{ id: B, version: 1, body: text }], { epoch }))
  const isTimely = (): boolean => shard.sent.at(-1)!.sql.includes('<= NOW')

  test('an insert is rejected if the database reports the fence, and the catalog has another epoch', async () => {
    expect(await insert([EPOCH, { rows: [{ epoch: 2 }] }])).toMatchObject(refused)
  })

  test('an insert is sent again if the fence refused it for its time, and is rejected if it is refused again', async () => {
    expect(await insert(here, ['INSERT', { changed: 1 }])).toEqual(won(undefined))
    const again = shard.act([['INSERT', { fault: 'fence-refused' }]], () =>
      shard.entities.insert([{ id: B, version: 1, body: text }], { epoch }),
    )
    expect(await again).toMatchObject(refused)
  })

  test('the inserts after one that was refused for its time read the floor at once, for a while', async () => {
    expect(await one(['INSERT', { changed: 1 }])).toEqual(won(undefined))
    expect(isTimely()).toBe(true)
    expect(await insert(here, ['INSERT', { changed: 1 }])).toEqual(won(undefined))
    for (let i = 0; i < 100; i++) {
      expect(await one(['INSERT', { changed: 1 }])).toEqual(won(undefined))
      expect(isTimely()).toBe(false)
    }
    await one(['INSERT', { changed: 1 }])
    expect(isTimely()).toBe(true)
  })

  test('an insert that is refused for its version makes no later insert read the floor', async () => {
    expect(await insert(here, ['INSERT', { fault: 'fence-refused' }])).toMatchObject(refused)
    expect(await one(['INSERT', { changed: 1 }])).toEqual(won(undefined))
    expect(isTimely()).toBe(true)
  })
})

test('an insert of an existing id is ALREADY_EXISTS', async () => {
  const outcome = await shard.act([['INSERT', { fault: 'duplicate' }]], () =>
    shard.entities.insert([{ id: A, version: 1, body: text }], { epoch }),
  )
  expect(outcome).toMatchObject({
    reason: {
      code: 'ALREADY_EXISTS',
      message: expect.stringMatching(/one of these ids already exists\.$/),
    },
  })
})

describe('reads', () => {
  test('a read is sent with the hint that it writes nothing', async () => {
    await shard.act([['SELECT', { rows: [] }]], () => shard.entities.read([A]))
    expect(shard.sent).toMatchObject([{ write: false }])
  })

  test('a read without tables is NOT_MIGRATED, with the remedy', async () => {
    const outcome = await shard.act([['SELECT', { fault: 'no-table' }]], () => shard.entities.read([A]))
    expect(outcome).toMatchObject({
      reason: { code: 'NOT_MIGRATED', message: expect.stringMatching(/missing; create the tables first\.$/) },
    })
  })

  test.each<[state: string, lengths: readonly Row[]]>([
    ['become a tombstone', [{ id: A, body_bytes: null }]],
    ['been purged', []],
  ])('a bounded read of a long body that has %s since returns no bytes', async (_, lengths) => {
    const omitted = { id: A, version: 1, updated_micros: 1, body: Buffer.of() }
    const outcome = await shard.act(
      [
        ['THEN X', { rows: [omitted] }],
        ['body_bytes', { rows: lengths }],
      ],
      () => shard.entities.readBounded([A], 10),
    )
    expect(outcome).toMatchObject(won([{ body: undefined, bodyBytes: 0 }]))
  })

  test('a count of an empty table is zero', async () => {
    const rows = [{ total: 0n, entities: 0n, oldest_tombstone: null }]
    const outcome = await shard.act([['COUNT', { rows }]], () => shard.entities.count())
    expect(outcome).toEqual(won({ entities: 0, tombstones: 0, oldestTombstone: undefined }))
  })
})
