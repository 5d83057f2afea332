import { expect, test } from 'vitest'
import { absenceBySchema } from './absence-by-schema.ts'
import { jsonSchemaOf, variantsOf, type JsonSchema } from './json-schema.ts'
import { typed, type Schema } from './schema.ts'

/** A schema that describes its output so. */
function describing(output: unknown): Schema {
  return { '~standard': { ...typed<object>()['~standard'], jsonSchema: { output } } } as unknown as Schema
}

test('a schema is described by the output of Standard JSON Schema, for any value that JSON lacks', () => {
  const asked: unknown[] = []
  const described = { type: 'object' }
  const output = (options: unknown): unknown => (asked.push(options), described)
  expect(jsonSchemaOf(describing(output))).toBe(described)
  expect(asked).toEqual([{ target: 'draft-2020-12', libraryOptions: { unrepresentable: 'any' } }])
})

test.each<[string, unknown]>([
  ['has no output', undefined],
  ['has no function', 'object'],
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  ['gives null', () => null],
  ['gives a text', () => 'object'],
])('a schema whose description %s describes nothing', (_, output) => {
  expect(jsonSchemaOf(describing(output))).toBeUndefined()
  expect(jsonSchemaOf({ '~standard': { ...typed<object>()['~standard'], jsonSchema: 5 } } as never)).toBe(
    undefined,
  )
})

const variants = (node: unknown, defs: JsonSchema = {}): unknown => variantsOf({ $defs: defs }, node)

test('the alternatives of a node are found through references, unions and lists of types', () => {
  const [text, none] = [{ type: 'string' }, { type: 'null' }]
  expect(variants(text)).toEqual([text])
  expect(variants({ type: ['string', 'null'], title: 'x' })).toEqual([
    { ...text, title: 'x' },
    { ...none, title: 'x' },
  ])
  for (const union of ['anyOf', 'oneOf', 'allOf'])
    expect(variants({ [union]: [text, { $ref: '#/$defs/a' }] }, { a: none })).toEqual([text, none])
  expect(variants({ anyOf: 5, oneOf: [], ...text })).toEqual([{ anyOf: 5, oneOf: [], ...text }])
  for (const bad of [5, null, { $ref: '#/$defs/b/c' }, { $ref: '#/$defs/none' }, { $ref: '#/none/none' }])
    expect(variants(bad, { b: 5 })).toEqual([])
  const root = { type: 'object', properties: { self: { $ref: '#' } } }
  expect(variantsOf(root, { $ref: '#' })).toEqual([root])
})

test.each([
  [20, 1],
  [21, 0],
])('a node within %i unions has %i alternatives', (depth, count) => {
  let node: JsonSchema = { type: 'string' }
  for (let n = 0; n < depth; n++) node = { anyOf: [node] }
  expect(variants(node)).toHaveLength(count)
  expect(variants({ $ref: '#/$defs/self' }, { self: { $ref: '#/$defs/self' } })).toEqual([])
})

test.each<[unknown, boolean]>([
  [{ type: 'string' }, false],
  [{ enum: [null, 'a'] }, true],
  [{ enum: ['a', 'b'] }, false],
  [{ enum: [null] }, false],
  [{ const: null }, false],
  [{ anyOf: [{ const: null }, { type: 'string' }] }, true],
  [{ anyOf: [{ type: 'null' }, { enum: [null] }] }, false],
  [{ anyOf: [] }, false],
])('a required property described as %j may be absent: %s', (node, isAbsent) => {
  const of = (required: unknown): boolean =>
    absenceBySchema(describing(() => ({ type: 'object', properties: { a: node }, required })))('a')
  expect(of(['a'])).toBe(isAbsent)
  const isNullAlone = JSON.stringify(node).match(/null/) !== null && !isAbsent
  expect([of(undefined), of(['b']), of('a')]).toEqual(Array(3).fill(!isNullAlone))
})

test('a description without properties tells of no absence', () => {
  for (const described of [{ type: 'object' }, { properties: 5 }, { properties: { valueOf: {} } }])
    expect(absenceBySchema(describing(() => described))('toString')).toBe(false)
})
