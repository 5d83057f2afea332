import { LooseleafError } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { commit, commitAll, type Commit, type EntityWrites } from './commit.ts'

const ROW: Commit = { id: Buffer.alloc(16), version: 7, base: 5, body: null, epoch: 3 }
const lost = new LooseleafError('OUTCOME_UNKNOWN', 'The answer was lost.')
const stale = new LooseleafError('STALE_EPOCH', 'The epoch is another.')
const exists = new LooseleafError('ALREADY_EXISTS', 'It exists.')
const busy = new LooseleafError('SHARD_BUSY', 'Busy.')
const mistake = Object.assign(new Error('A mistake.'), { unknownOutcome: true })

const refuse = (): never => expect.unreachable()
const inserting = (insert: EntityWrites['insert']): EntityWrites => ({ insert, replace: refuse })
const replacing = (replace: EntityWrites['replace']): EntityWrites => ({ insert: refuse, replace })

test('an entity without a base is inserted, and any other one is replaced', async () => {
  const rows: Commit[] = []
  const fresh = { ...ROW, base: 0 }
  expect(
    await commit(
      fresh,
      inserting(async (row) => void rows.push(row)),
    ),
  ).toBe('won')
  expect(
    await commit(
      ROW,
      replacing(async (row) => rows.push(row) > 0),
    ),
  ).toBe('won')
  expect(rows).toEqual([fresh, ROW])
})

test('a commit after that of another writer is superseded', async () => {
  expect(
    await commit(
      ROW,
      replacing(async () => false),
    ),
  ).toBe('superseded')
  expect(
    await commit(
      { ...ROW, base: 0 },
      inserting(() => Promise.reject(exists)),
    ),
  ).toBe('superseded')
  const places: (readonly number[])[] = []
  expect(
    await commitAll(
      async () => ({ lost: [1, 4] }),
      (each) => places.push(each),
      refuse,
    ),
  ).toBe('superseded')
  expect(places).toEqual([[1, 4]])
  expect(await commitAll(async () => 'written', refuse, refuse)).toBe('won')
})

test.each([
  ['stale', stale, []],
  ['unsettled', lost, [lost]],
])('a commit is %s by its error', async (outcome, error, told) => {
  const reasons: unknown[] = []
  const tell = (reason: unknown): unknown => reasons.push(reason)
  const fail = (): Promise<never> => Promise.reject(error)
  expect(await commit(ROW, replacing(fail), tell)).toBe(outcome)
  expect(await commitAll(fail, refuse, tell)).toBe(outcome)
  expect(reasons).toEqual([...told, ...told])
  expect(await commit(ROW, replacing(fail))).toBe(outcome)
})

test.each([busy, mistake])('a commit throws any other error (%s)', async (error) => {
  const fail = async (): Promise<never> => {
    throw error
  }
  await expect(commit(ROW, replacing(fail), refuse)).rejects.toBe(error)
  await expect(commitAll(fail, refuse, refuse)).rejects.toBe(error)
})
