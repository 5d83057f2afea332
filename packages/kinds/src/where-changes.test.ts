import { LooseleafError } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { changeWhere, type ChangedWhere } from './where-changes.ts'

const itemOf = (id: string, version = 1): { id: string; version: number } => ({ id, version })
const mismatch = { ok: false as const, error: new LooseleafError('VERSION_MISMATCH', 'It was written.') }
const gone = { ok: false as const, error: new LooseleafError('NOT_FOUND', 'It is gone.') }
const fine = { ok: true as const, value: true }
const unchanged = { ok: true as const, value: false }

type Found = ReturnType<typeof itemOf>

/** Runs `changeWhere` over these pages. `worked` has the items of each call of `work`, `cursors` the cursor of each page. */
function changing(
  pages: readonly { readonly items: Found[]; readonly cursor?: string; readonly complete?: boolean }[],
  fateOf: (found: Found) => typeof fine | typeof unchanged | { readonly ok: false; readonly error: Error },
  onProgress?: (progress: ChangedWhere) => void,
): { readonly result: Promise<ChangedWhere>; readonly worked: string[]; readonly cursors: unknown[] } {
  const remaining = [...pages]
  const worked: string[] = []
  const cursors: unknown[] = []
  const result = changeWhere(
    async ({ cursor }) => {
      cursors.push(cursor)
      const { complete = true, ...page } = remaining.shift()!
      return { ...page, cost: { complete } }
    },
    async (found) => {
      worked.push(found.map(({ id, version }) => id + version).join(' '))
      return found.map(fateOf)
    },
    { onProgress },
  )
  return { result, worked, cursors }
}

test('an entity that another process has written is read again, and skipped if it no longer matches', async () => {
  const { result, worked, cursors } = changing(
    [
      { items: [itemOf('a'), itemOf('b'), itemOf('c')], cursor: 'next' },
      { items: [itemOf('a', 2), itemOf('c', 2)], cursor: 'next' },
      { items: [itemOf('d')] },
    ],
    ({ id, version }) => (version === 1 && 'bc'.includes(id) ? mismatch : fine),
  )
  expect(await result).toEqual({ done: 3, failed: [], complete: true })
  expect(cursors).toEqual([undefined, undefined, 'next'])
  expect(worked).toEqual(['a1 b1 c1', 'c2', 'd1'])
})

test('a deleted entity is skipped, a repeated one is not changed again, and an unchanged one does not count', async () => {
  const { result, worked } = changing(
    [
      { items: [itemOf('a'), itemOf('b')], cursor: 'next' },
      { items: [itemOf('a', 2), itemOf('c'), itemOf('d')] },
    ],
    ({ id }) => (id === 'b' ? gone : id === 'c' ? unchanged : fine),
  )
  expect(await result).toEqual({ done: 2, failed: [], complete: true })
  expect(worked).toEqual(['a1 b1', 'c1 d1'])
})

test('a change is not complete if any page is not', async () => {
  const { result } = changing(
    [{ items: [itemOf('a')], cursor: 'next', complete: false }, { items: [itemOf('b')] }],
    () => fine,
  )
  expect(await result).toEqual({ done: 2, failed: [], complete: false })
})

test('failed entities are listed, and the others are changed', async () => {
  const error = new LooseleafError('SCHEMA_MISMATCH', 'It does not fit.')
  const thrown = new Error('by the edit')
  const { result } = changing(
    [
      { items: [itemOf('a'), itemOf('b')], cursor: 'next' },
      { items: [itemOf('c'), itemOf('d')], complete: false },
    ],
    ({ id }) => (id === 'a' ? { ok: false, error } : id === 'c' ? { ok: false, error: thrown } : fine),
  )
  expect(await result).toEqual({
    done: 2,
    failed: [
      { id: 'a', error },
      { id: 'c', error: thrown },
    ],
    complete: false,
  })
})

test('an error that every entity would meet ends the call, after the cursor of the page is reported', async () => {
  const down = { ok: false as const, error: new LooseleafError('SHARD_UNAVAILABLE', 'It is away.') }
  const reports: ChangedWhere[] = []
  const { result } = changing(
    [
      { items: [itemOf('a')], cursor: 'second' },
      { items: [itemOf('b'), itemOf('c')], cursor: 'third' },
    ],
    ({ id }) => (id === 'c' ? down : fine),
    (progress) => reports.push(progress),
  )
  await expect(result).rejects.toBe(down.error)
  expect(reports).toEqual([
    { done: 1, failed: [], complete: true, cursor: 'second' },
    { done: 2, failed: [], complete: true, cursor: 'second' },
  ])
})

test.each([
  'BAD_ID',
  'BAD_INDEX_VALUE',
  'BAD_OPTION',
  'BAD_PROPERTY',
  'BODY_DAMAGED',
  'BODY_TOO_LARGE',
  'BODY_UNKNOWN',
  'DUPLICATE_KEY',
  'SCHEMA_MISMATCH',
] as const)('an error %s of one entity does not end the call', async (code) => {
  const error = new LooseleafError(code, 'It is wrong.')
  const { result } = changing([{ items: [itemOf('a'), itemOf('b')] }], ({ id }) =>
    id === 'a' ? { ok: false, error } : fine,
  )
  expect(await result).toEqual({ done: 1, failed: [{ id: 'a', error }], complete: false })
})

test('the first hundred failed entities are listed', async () => {
  const items = Array.from({ length: 101 }, (_, n) => itemOf(`${n}`))
  const { result } = changing([{ items }], () => ({ ok: false, error: new Error('no') }))
  const { failed, done } = await result
  expect([failed.length, failed.at(-1)!.id, done]).toEqual([100, '99', 0])
})
