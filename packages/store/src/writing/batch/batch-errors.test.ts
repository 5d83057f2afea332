import { formatId, LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { givenUp, itemError, unknownBatch } from './batch-errors.ts'
import type { TakenItem } from './take-items.ts'

const A = '01890a5d-ac96-774b-bcce-b302099a8057' as EntityId
const B = '01890a5d-ac96-774b-bcce-b302099a8058' as EntityId
const C = '01890a5d-ac96-774b-bcce-b302099a8059' as EntityId

function itemOf(id: EntityId, item: Partial<TakenItem> = {}): TakenItem {
  return {
    name: 'put',
    id: parseId(id),
    isFresh: false,
    addsUp: false,
    decide: () => undefined,
    resultOf: () => undefined,
    ...item,
  }
}

const TARGET = { items: [itemOf(A), itemOf(B)], shard: 'shard 0' }
const busy = (): LooseleafError => new LooseleafError('SHARD_BUSY', 'A deadlock.')

test('the error of an item has the place and the name of the item beside the fields of its own error', () => {
  const cause = new Error('a cause')
  const fields = {
    entity: A,
    index: 'by_name',
    holder: B,
    issues: [{ message: 'too long', path: [] }],
    shard: 'shard 0',
    retryable: true,
    undone: true,
  }
  const error = new LooseleafError('DUPLICATE_KEY', 'The key is taken.', { ...fields, cause })
  const own = itemError(3, 'put', error) as LooseleafError
  expect(own).toMatchObject({ code: 'DUPLICATE_KEY', item: 3, cause, ...fields })
  expect(own.message).toBe('The batch was not written because of items[3] (put): The key is taken.')
  const unnamed = itemError(0, undefined, busy()) as LooseleafError
  expect(unnamed.message).toBe('The batch was not written because of items[0]: A deadlock.')
  expect(unnamed.cause).toEqual(busy())
})

test.each([
  new Error('thrown by an edit'),
  new LooseleafError('ABORTED', 'The signal has fired.'),
  new LooseleafError('SHARD_BUSY', 'The place is known.', { item: 1 }),
])('the error "%s" stays as it is', (error) => {
  expect(itemError(0, 'put', error)).toBe(error)
})

test('a batch that was given up names its attempts, the entity of others and the last error', () => {
  const cause = busy()
  const error = givenUp('CONFLICT', TARGET, 7, 1, cause)
  expect(error).toMatchObject({ code: 'CONFLICT', entity: B, shard: 'shard 0', item: 1, cause })
  expect(error.message).toBe(
    `The batch of 2 entities was not written in 7 attempts. Other writers wrote entity ${B} (items[1]) first. The last attempt failed with: A deadlock.`,
  )
})

test('a batch whose time is over says so, and that no attempt was possible', () => {
  const error = givenUp('DEADLINE', TARGET, 0, undefined, undefined)
  expect(error).toMatchObject({ code: 'DEADLINE', entity: undefined, item: undefined })
  expect(error.message).toBe(
    'The batch of 2 entities was not written in 0 attempts within writeTimeoutMs. Its bucket was being moved to another shard all the time.',
  )
  expect(givenUp('DEADLINE', TARGET, 1, undefined, undefined).message).toMatch(/within writeTimeoutMs\.$/)
})

test('an unknown batch names its versions, each reason once, and the error that hid the outcome', () => {
  const error = unknownBatch(TARGET, [5, 6], ['No answer.', 'No answer.', 'It went away.'], busy())
  expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', entity: A, shard: 'shard 0', retryable: true })
  expect(error.message).toBe(
    'It is not known whether the batch of 2 entities was written, as version 5 or 6: all of them, or none. The reason: No answer. It went away. The outcome could not be found out: A deadlock.',
  )
  const secret = new Error('a value of the caller')
  expect(unknownBatch(TARGET, [5], ['No answer.'], secret)).toMatchObject({
    cause: secret,
    message: expect.not.stringContaining('caller'),
  })
})

test.each([
  ['makes an id', { isFresh: true }],
  ['adds up', { addsUp: true }],
])('an unknown batch of which one item %s is not retryable, and says what to read', (_, item) => {
  const items = [itemOf(A, { name: 'check' }), itemOf(B), itemOf(C, item)]
  const error = unknownBatch({ ...TARGET, items }, [5], ['No answer.'], busy())
  expect(error).toMatchObject({ retryable: false, entity: B })
  expect(error.message).toMatch(
    new RegExp(`Read entity ${B} before you try again: the batch may have been written\\.$`),
  )
})

test('an unknown batch of checks names the first one', () => {
  const items = [itemOf(A, { name: 'check' }), itemOf(B, { name: 'check' })]
  expect(unknownBatch({ ...TARGET, items }, [5], ['No answer.'], busy()).entity).toBe(formatId(items[0]!.id))
})
