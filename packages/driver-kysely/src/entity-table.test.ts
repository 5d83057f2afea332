import { crc32 } from 'node:zlib'
import type { EntityReplace } from '@looseleaf/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { scriptedShard, type ScriptedShard, type Step } from '../test/scripted-shard.ts'
import type { Row } from './session.ts'

const epoch = 1

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

const won = <T>(value: T): PromiseSettledResult<T> => ({ status: 'fulfilled', value })
const unknown = { status: 'rejected', reason: { code: 'OUTCOME_UNKNOWN', unknownOutcome: true } }

const SWAP = 'SWAP'
const VERSIONS = 'SELECT id, version FROM'
const SUMS = 'CRC32'
const EPOCH = 'SELECT epoch'
const here: Step = [EPOCH, { rows: [{ epoch }] }]

let shard: ScriptedShard
beforeEach(() => {
  shard = scriptedShard()
})

const replace = (rows: readonly EntityReplace[], ...steps: readonly Step[]) =>
  shard.act(steps, () => shard.entities.replace(rows, { epoch }))

describe('a swap of several rows', () => {
  test('that changed none has lost them all, and nothing else is read but the epoch', async () => {
    const outcome = await replace([swap(A), swap(B)], [SWAP, { changed: 0 }], here)
    expect(outcome).toEqual(won([false, false]))
    expect(shard.sent.map(({ write }) => write)).toEqual([true, false])
  })

  test('that changed some is told apart by the versions, where nobody replaced a row again', async () => {
    const rows = [row(A), row(B, 7)]
    const outcome = await replace([swap(A), swap(B), swap(C)], [SWAP, { changed: 1 }], [VERSIONS, { rows }])
    expect(outcome).toEqual(won([true, false, false]))
  })

  test('says so where one of the bodies is long', async () => {
    const [short, long] = [new Uint8Array(65_535), new Uint8Array(65_536)]
    const of = 'SWAP 2 rows'
    expect(await replace([swap(A, short), swap(B, null)], [`${of} WHERE`, { changed: 2 }])).toEqual(
      won([true, true]),
    )
    const again = [swap(A, null, LATER, 2 * LATER), swap(B, long, LATER, 2 * LATER)]
    expect(await replace(again, [`${of} with long bodies WHERE`, { changed: 2 }])).toEqual(won([true, true]))
  })

  test('of one row is a statement of its own', async () => {
    expect(await replace([swap(A)], ['UPDATE "entities"', { changed: 1 }])).toEqual(won([true]))
  })

  test('of more rows than one statement takes is refused', async () => {
    const rows = Array.from({ length: 501 }, () => swap(A))
    const refused = { status: 'rejected', reason: { code: 'BAD_OPTION' } }
    expect(await replace(rows)).toMatchObject(refused)
    expect(await shard.act([], () => shard.entities.insert(rows, { epoch }))).toMatchObject(refused)
  })

  test('locks them in the order of their ids, and answers in that of the call', async () => {
    const rows = [row(B), row(A, 7)]
    const outcome = await replace([swap(B), swap(A)], [SWAP, { changed: 1 }], [VERSIONS, { rows }])
    expect(outcome).toEqual(won([true, false]))
    expect(shard.sent.at(-1)).toMatchObject({ parameters: [A, B] })
  })
})

describe('a swap of which a row was replaced again', () => {
  const taken = row(C, LATER + 1)

  /** Two rows that have the version that was to be written, and one that has a greater one. */
  const withTaken = (body: Uint8Array | null, sums: readonly Row[]) =>
    replace(
      [swap(A), swap(B, body), swap(C)],
      [SWAP, { changed: 3 - 1 }],
      [VERSIONS, { rows: [row(A), row(B), taken] }],
      [SUMS, { rows: sums }],
    )

  test('is told apart by the numbers when the others have the bodies that were written', async () => {
    const outcome = await withTaken(null, [row(A, LATER, crc32(text)), row(B, LATER, null)])
    expect(outcome).toEqual(won([true, true, false]))
    expect(shard.sent.at(-1)).toMatchObject({ parameters: [A, B], write: false })
  })

  test('asks for no body of a row that lost', async () => {
    const rows = [row(A), row(B, 7), taken]
    const outcome = await replace(
      [swap(A), swap(B), swap(C)],
      [SWAP, { changed: 2 }],
      [VERSIONS, { rows }],
      [SUMS, { rows: [row(A, LATER, crc32(text))] }],
    )
    expect(outcome).toEqual(won([true, false, true]))
    expect(shard.sent.at(-1)).toMatchObject({ parameters: [A] })
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
    expect(outcome).toEqual(won([true, true, false]))
  })
})

describe('a swap needs a transaction', () => {
  const soon = (id: Buffer, base: number): EntityReplace => swap(id, text, base, base + 1)
  const alone: Step[] = [[SWAP, { changed: 2 }]]
  const careful: Step[] = [['BEGIN'], ...alone, ['COMMIT']]

  beforeEach(async () => {
    const rows = [A, B, C].map((id) => ({ id, version: 1, body: text }))
    await shard.act([['INSERT', { changed: 3 }]], () => shard.entities.insert(rows, { epoch }))
  })

  test('not while this process alone writes its entities', async () => {
    expect(await replace([soon(A, 1), soon(B, 1)], ...alone)).toEqual(won([true, true]))
    expect(await replace([soon(A, 2), soon(B, 2)], ...alone)).toEqual(won([true, true]))
  })

  test('after one that lost, and not for those that won beside it', async () => {
    const rows = [row(A, 2), row(B, 1)]
    const half = await replace([soon(A, 1), soon(B, 1)], [SWAP, { changed: 1 }], [VERSIONS, { rows }])
    expect(half).toEqual(won([true, false]))
    expect(await replace([soon(A, 2), soon(C, 1)], ...alone)).toEqual(won([true, true]))
    expect(await replace([soon(A, 3), soon(B, 1)], ...careful)).toEqual(won([true, true]))
  })

  test('after one whose outcome is unknown', async () => {
    const rows = [row(A, 3), row(B, 3)]
    const lost = await replace([soon(A, 1), soon(B, 1)], [SWAP, { changed: 1 }], [VERSIONS, { rows }])
    expect(lost).toMatchObject(unknown)
    expect(await replace([soon(A, 1), soon(C, 1)], ...careful)).toEqual(won([true, true]))
  })
})

describe('a write with another epoch than that of the catalog', () => {
  const refused = {
    status: 'rejected',
    reason: {
      code: 'STALE_EPOCH',
      shard: 'scripted',
      message: expect.stringMatching(/^scripted: the catalog has another epoch.*nothing was written\.$/),
    },
  }

  test.each<[what: string, rows: readonly Row[]]>([
    ['is there', [{ epoch: 2 }]],
    ['is not there', []],
  ])('is refused when all its rows lost and the catalog %s', async (_, rows) => {
    const outcome = await replace([swap(A)], ['UPDATE', { changed: 0 }], [EPOCH, { rows }])
    expect(outcome).toMatchObject(refused)
  })

  test('is refused when the database says so', async () => {
    const outcome = await shard.act([['INSERT', { fault: 'fence-refused' }]], () =>
      shard.entities.insert([{ id: A, version: 1, body: text }], { epoch }),
    )
    expect(outcome).toMatchObject(refused)
  })
})

test('an insert of an entity that is there says so', async () => {
  const outcome = await shard.act([['INSERT', { fault: 'duplicate' }]], () =>
    shard.entities.insert([{ id: A, version: 1, body: text }], { epoch }),
  )
  expect(outcome).toMatchObject({
    reason: {
      code: 'ALREADY_EXISTS',
      message: expect.stringMatching(/one of these ids is there already\.$/),
    },
  })
})

describe('a read', () => {
  test('is not taken for a write, whose outcome could be unknown', async () => {
    await shard.act([['SELECT', { rows: [] }]], () => shard.entities.read([A]))
    expect(shard.sent).toMatchObject([{ write: false }])
  })

  test('without the tables says what to do', async () => {
    const outcome = await shard.act([['SELECT', { fault: 'no-table' }]], () => shard.entities.read([A]))
    expect(outcome).toMatchObject({
      reason: { code: 'NOT_MIGRATED', message: expect.stringMatching(/missing; create the tables first\.$/) },
    })
  })

  test.each<[what: string, lengths: readonly Row[]]>([
    ['become a tombstone', [{ id: A, body_bytes: null }]],
    ['gone', []],
  ])('of a long body that has %s since gives no bytes', async (_, lengths) => {
    const left = { id: A, version: 1, updated_micros: 1, body: Buffer.of() }
    const outcome = await shard.act(
      [
        ['THEN X', { rows: [left] }],
        ['body_bytes', { rows: lengths }],
      ],
      () => shard.entities.readBounded([A], 10),
    )
    expect(outcome).toMatchObject(won([{ body: undefined, bodyBytes: 0 }]))
  })

  test('counts nothing in an empty table', async () => {
    const rows = [{ total: 0n, entities: 0n, last_added_id: null }]
    const outcome = await shard.act([['COUNT', { rows }]], () => shard.entities.count())
    expect(outcome).toEqual(won({ entities: 0, tombstones: 0, lastAddedId: 0 }))
  })
})
