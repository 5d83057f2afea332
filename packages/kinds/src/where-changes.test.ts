import { LooseleafError } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { changeWhere } from './where-changes.ts'

const one = (id: string, version = 1): { id: string; version: number } => ({ id, version })
const mismatch = { ok: false as const, error: new LooseleafError('VERSION_MISMATCH', 'It was written.') }
const gone = { ok: false as const, error: new LooseleafError('NOT_FOUND', 'It is gone.') }
const fine = { ok: true as const, value: undefined }

test('one that was written meanwhile is read again, and left alone where it does not match any more', async () => {
  const pages = [
    { items: [one('a'), one('b'), one('c')], cursor: 'next' },
    { items: [one('a', 2), one('c', 2)], cursor: 'next' },
    { items: [one('d')] },
  ]
  const asked: (string | undefined)[] = []
  const worked: string[] = []
  const result = await changeWhere(
    async ({ cursor }) => {
      asked.push(cursor)
      return pages.shift()!
    },
    async (found) => {
      worked.push(found.map(({ id, version }) => id + version).join(' '))
      return found.map(({ id, version }) => (version === 1 && 'bc'.includes(id) ? mismatch : fine))
    },
    {},
  )
  expect(asked).toEqual([undefined, undefined, 'next'])
  expect(worked).toEqual(['a1 b1 c1', 'c2', 'd1'])
  expect(result).toEqual({ done: 3 })
})

test('one that is gone is passed over, and one that comes again is not done again', async () => {
  const pages = [{ items: [one('a'), one('b')], cursor: 'next' }, { items: [one('a', 2), one('c')] }]
  const worked: string[] = []
  const result = await changeWhere(
    async () => pages.shift()!,
    async (found) => {
      worked.push(...found.map(({ id }) => id))
      return found.map(({ id }) => (id === 'b' ? gone : fine))
    },
    {},
  )
  expect(worked).toEqual(['a', 'b', 'c'])
  expect(result).toEqual({ done: 2 })
})
