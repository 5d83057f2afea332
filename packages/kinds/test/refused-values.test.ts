import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import * as v from 'valibot'
import { z } from 'zod'
import { defineKind, typed } from '../src/index.ts'
import { openStore } from './issues.ts'

const User = defineKind('user', {
  schema: v.object({ mail: v.pipe(v.string(), v.email()), age: v.pipe(v.number(), v.minValue(18)) }),
})

test.each([
  ['a text', { mail: 'hunter2-secret', age: 20 }, 'mail', /hunter2/],
  ['a short text', { mail: 'zq', age: 20 }, 'mail', /zq/],
  ['a number', { mail: 'a@example.com', age: -17.5 }, 'age', /17\.5/],
])(
  'the error of a schema that quotes %s names the property and not the value',
  async (_, value, path, secret) => {
    const users = User.in(await openStore())
    const error: unknown = await users.insert(value).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'SCHEMA_MISMATCH', issues: [{ path: [path] }] })
    expect(String(error)).toContain(`: ${path}: Invalid`)
    expect(inspect(error) + JSON.stringify(error)).not.toMatch(secret)
  },
)

test('an async edit that rejects is refused, without an unhandled rejection', async () => {
  const Note = defineKind('note', { schema: z.object({ text: z.string() }) })
  const notes = Note.in(await openStore())
  const { id } = await notes.insert({ text: 'a' })
  const patch = (async () => Promise.reject(new Error('rejected patch'))) as never
  // An unhandled rejection would end the process, and fail this run.
  await expect(notes.update(id, patch)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await new Promise((resolve) => setImmediate(resolve))
  expect(await notes.get(id)).toMatchObject({ text: 'a' })
})

test.each([new Map([['text', 'b']]), new Set(['text']), new Date(0), /text/])(
  'an object of another class is no patch and no value: %s',
  async (given) => {
    const Note = defineKind('note', { schema: typed<{ text: string }>() })
    const notes = Note.in(await openStore())
    const { id } = await notes.insert({ text: 'a' })
    for (const call of [
      () => notes.update(id, given as never),
      () => notes.update(id, () => given as never),
      () => notes.put(given as never, { id }),
      () => notes.insert(given as never),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'BAD_OPTION' })
    }
    expect(await notes.get(id)).toMatchObject({ text: 'a', version: expect.any(Number) })
  },
)

test('a name of Object.prototype is no property of a partial index', async () => {
  const Note = defineKind('note', {
    schema: z.object({ text: z.string() }),
    indexes: { byText: { by: [{ text: 'string' }] } },
  })
  const notes = Note.in(await openStore(Note))
  for (const name of ['constructor', 'toString']) {
    await expect(notes.byText.page({ [name]: 1 } as never)).rejects.toThrow(
      expect.objectContaining({ code: 'BAD_QUERY', message: expect.not.stringContaining('in the `on`') }),
    )
  }
})

test.each([
  [
    'zod',
    z.object({ due: z.date(), rank: z.number() }),
    'received Date (an invalid Date)',
    'expected number, received NaN',
  ],
  [
    'valibot',
    v.object({ due: v.date(), rank: v.number() }),
    'received "Invalid Date"',
    'Expected number but received NaN',
  ],
])('the error of a schema of %s names an invalid date and NaN', async (_, schema, due, rank) => {
  const tasks = defineKind('task', { schema }).in(await openStore())
  const value = { due: new Date(NaN), rank: NaN }
  const error: unknown = await tasks.insert(value as never).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({
    code: 'SCHEMA_MISMATCH',
    message: expect.stringContaining(due) as string,
    issues: [{ path: ['due'] }, { path: ['rank'], message: expect.stringContaining(rank) as string }],
  })
})
