import { LooseleafError } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { changeWhere, type ChangedWhere } from './where-changes.ts'

const one = (id: string, version = 1): { id: string; version: number } => ({ id, version })
const mismatch = { ok: false as const, error: new LooseleafError('VERSION_MISMATCH', 'It was written.') }
const gone = { ok: false as const, error: new LooseleafError('NOT_FOUND', 'It is gone.') }
const fine = { ok: true as const, value: true }
const unchanged = { ok: true as const, value: false }

type Found = ReturnType<typeof one>

/** Pages that follow one another, and what becomes of each entity on them. */
function changing(
  pages: readonly { readonly items: Found[]; readonly cursor?: string; readonly complete?: boolean }[],
  fateOf: (found: Found) => typeof fine | typeof unchanged | { readonly ok: false; readonly error: Error },
  onProgress?: (progress: ChangedWhere) => void,
): { readonly result: Promise<ChangedWhere>; readonly worked: string[]; readonly asked: unknown[] } {
  const left = [...pages]
  const worked: string[] = []
  const asked: unknown[] = []
  const result = changeWhere(
    async ({ cursor }) => {
      asked.push(cursor)
      const { complete = true, ...page } = left.shift()!
      return { ...page, cost: { complete } }
    },
    async (found) => {
      worked.push(found.map(({ id, version }) => id + version).join(' '))
      return found.map(fateOf)
    },
    { onProgress },
  )
  return { result, worked, asked }
}

test('one that was written meanwhile is read again, and left alone where it does not match any more', async () => {
  const { result, worked, asked } = changing(
    [
      { items: [one('a'), one('b'), one('c')], cursor: 'next' },
      { items: [one('a', 2), one('c', 2)], cursor: 'next' },
      { items: [one('d')] },
    ],
    ({ id, version }) => (version === 1 && 'bc'.includes(id) ? mismatch : fine),
  )
  expect(await result).toEqual({ done: 3, failed: [], complete: true })
  expect(asked).toEqual([undefined, undefined, 'next'])
  expect(worked).toEqual(['a1 b1 c1', 'c2', 'd1'])
})

test('one that is gone is passed over, one that comes again is not done again, and what changes nothing is not counted', async () => {
  const { result, worked } = changing(
    [{ items: [one('a'), one('b')], cursor: 'next' }, { items: [one('a', 2), one('c'), one('d')] }],
    ({ id }) => (id === 'b' ? gone : id === 'c' ? unchanged : fine),
  )
  expect(await result).toEqual({ done: 2, failed: [], complete: true })
  expect(worked).toEqual(['a1 b1', 'c1 d1'])
})

test('a change is not complete once a page was not, whatever later ones are', async () => {
  const { result } = changing(
    [{ items: [one('a')], cursor: 'next', complete: false }, { items: [one('b')] }],
    () => fine,
  )
  expect(await result).toEqual({ done: 2, failed: [], complete: false })
})

test('those that fail are told, and the others are done', async () => {
  const error = new LooseleafError('SCHEMA_MISMATCH', 'It does not fit.')
  const own = new Error('by the change itself')
  const { result } = changing(
    [
      { items: [one('a'), one('b')], cursor: 'next' },
      { items: [one('c'), one('d')], complete: false },
    ],
    ({ id }) => (id === 'a' ? { ok: false, error } : id === 'c' ? { ok: false, error: own } : fine),
  )
  expect(await result).toEqual({
    done: 2,
    failed: [
      { id: 'a', error },
      { id: 'c', error: own },
    ],
    complete: false,
  })
})

test('what every entity would meet ends it, and the cursor of that page is told before', async () => {
  const down = { ok: false as const, error: new LooseleafError('SHARD_UNAVAILABLE', 'It is away.') }
  const told: ChangedWhere[] = []
  const { result } = changing(
    [
      { items: [one('a')], cursor: 'second' },
      { items: [one('b'), one('c')], cursor: 'third' },
    ],
    ({ id }) => (id === 'c' ? down : fine),
    (progress) => told.push(progress),
  )
  await expect(result).rejects.toBe(down.error)
  expect(told).toEqual([
    { done: 1, failed: [], complete: true, cursor: 'second' },
    { done: 2, failed: [], complete: true, cursor: 'second' },
  ])
})
