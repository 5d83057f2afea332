import { expect, test } from 'vitest'
import { z } from 'zod'
import { absenceBySchema } from './absence-by-schema.ts'
import { typed } from './schema.ts'

interface Tree {
  name?: string | undefined
  parent?: Tree | undefined
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string().optional(),
  get parent() {
    return tree.optional()
  },
})

const schema = z.object({
  title: z.string(),
  size: z.bigint(),
  made: z.date(),
  status: z.enum(['open', 'closed']).default('open'),
  due: z.date().optional(),
  assignee: z.string().nullable(),
  note: z.string().nullish(),
  word: z.literal(['a', null]),
  nothing: z.null(),
  author: z.object({ id: z.string(), name: z.string().optional() }),
  review: z.object({ by: z.string() }).optional(),
  labels: z.array(z.string().nullable()),
  tree,
})

test.each([
  ['title', false],
  ['size', false],
  ['made', false],
  // A default is stored with the entity.
  ['status', false],
  ['due', true],
  ['assignee', true],
  ['note', true],
  ['word', true],
  // Null alone counts like a variant that lacks the property.
  ['nothing', false],
  ['author.id', false],
  ['author.name', true],
  ['review.by', true],
  ['labels', false],
  ['tree.name', true],
  ['tree.parent.parent.name', true],
  ['missing', false],
])('absenceBySchema of the property %s is %s', (path, expected) => {
  expect(absenceBySchema(schema)(path)).toBe(expected)
})

test('a property stays required although a variant of a union lacks it', () => {
  const click = z.object({ kind: z.literal('click'), element: z.string() })
  const buy = z.object({ kind: z.literal('buy'), product: z.string(), coupon: z.string().optional() })
  const mayBeAbsent = absenceBySchema(z.discriminatedUnion('kind', [click, buy]))
  expect(['product', 'coupon', 'kind'].map(mayBeAbsent)).toEqual([false, true, false])
  expect(absenceBySchema(click.and(buy.omit({ kind: true })))('coupon')).toBe(true)
})

test('absenceBySchema is false for a schema that does not describe itself', () => {
  expect(absenceBySchema(typed<{ due?: Date }>())('due')).toBe(false)
  const failing = { '~standard': { ...typed<object>()['~standard'], jsonSchema: { output: () => null } } }
  expect(absenceBySchema(failing)('due')).toBe(false)
})
