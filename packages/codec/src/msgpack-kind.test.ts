import type { Bag } from '@looseleaf/core'
import { KIND_PROPERTY } from '@looseleaf/core/internal'
import * as fc from 'fast-check'
import { Packr } from 'msgpackr'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { expect, test } from 'vitest'
import { arbitraryBag } from '@looseleaf-tooling/kit/arbitrary-bag'
import { envelope } from '../test/envelope.ts'
import type { EnvelopeCodecOptions } from './envelope-options.ts'
import { envelopeCodec, jsonFormat } from './index.ts'
import { kindInBag } from './msgpack-kind.ts'

const kinds = fc.oneof(
  fc.constantFrom('entry', 'k'.repeat(32), 'é'.repeat(200), 7, null, undefined),
  fc.string(),
)

/** Bags with `_kind` between other properties, and with values of every type before it. */
const bags = fc
  .tuple(arbitraryBag, kinds, arbitraryBag)
  .map(([before, kind, after]): Bag => ({ ...before, ...(kind !== undefined && { _kind: kind }), ...after }))

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

test.each<[string, EnvelopeCodecOptions]>([
  ['MessagePack', { compression: 'none' }],
  ['compressed MessagePack', {}],
  ['JSON', { format: jsonFormat }],
])('the kind of a body in %s is that of its decoded bag', (_, options) => {
  const codec = envelopeCodec(options)
  fc.assert(
    fc.property(bags, (bag) => {
      expect(codec.kindOf!(codec.encode(bag))).toBe(textOf(codec.decode(codec.encode(bag))[KIND_PROPERTY]))
    }),
    { numRuns: 50 },
  )
})

test('the kind of a body with a shape and a dictionary is that of its decoded bag', () => {
  const codec = envelopeCodec({ shapes: true, dictionary: true }).forStore!()
  const learn = (entry: ReturnType<typeof codec.codecEntries.train>): void => {
    codec.codecEntries.learn({ ...entry, added: 1 })
    codec.codecEntries.confirm(entry.id)
  }
  const bag = { a: [1, { b: 'x' }], c: { d: new Date(0) }, _kind: 'entry', text: 'a text '.repeat(20) }
  const others = [
    { a: 1, b: 'nothing here' },
    { ...bag, _kind: { of: 'entry' } },
  ]
  for (const each of [bag, ...others]) {
    for (let i = 0; i < 32; i++) codec.encode(each)
  }
  for (const entry of codec.codecEntries.wanted()) learn(entry)
  learn(codec.codecEntries.train([bag], 1024))
  const body = codec.encode(bag)
  expect(codec.describe!(body)).toMatchObject({ compression: 'dictionary', shape: expect.any(String) })
  expect(codec.kindOf!(body)).toBe('entry')
  for (const each of others) {
    expect(codec.describe!(codec.encode(each))?.shape).toBeDefined()
    expect(codec.kindOf!(codec.encode(each))).toBeUndefined()
  }
  const reader = envelopeCodec({ shapes: true, dictionary: true }).forStore!()
  expect(codeOf(() => reader.kindOf!(body))).toBe('BODY_UNKNOWN')
})

test('the kind of a body that another writer has packed in longer forms is read', () => {
  const long = new Packr({ useRecords: false, variableMapSize: false, useToJSON: false })
  expect(kindInBag(long.pack({ n: 1, _kind: 'entry' }))).toBe('entry')
  const named = Buffer.from([0x82, 0xa1, 0x6e, 1, 0xd9, 5, ...Buffer.from('_kind'), 0xd9, 1, 0x65])
  expect(kindInBag(named)).toBe('e')
})

test('a damaged body has no kind: its envelope is checked', () => {
  const codec = envelopeCodec()
  const body = Buffer.from(codec.encode({ _kind: 'entry', n: 1 }))
  for (let i = 0; i < body.length; i++) {
    const changed = Buffer.from(body)
    changed[i]! ^= 1
    expect(codeOf(() => codec.kindOf!(changed))).toBe('BODY_DAMAGED')
  }
  for (const raw of [
    [0x82, 0xa1, 0x6e, 1],
    [0x81, 0xa1, 0x6e, 0xc1],
    [0x81, 0xa1],
  ])
    expect(codeOf(() => codec.kindOf!(envelope({ rawLength: raw.length, payload: Buffer.from(raw) })))).toBe(
      'BODY_DAMAGED',
    )
})

test('a codec made by spreading another has no kindOf, which would bypass its decode', () => {
  const inner = envelopeCodec()
  expect(inner.kindOf).toBeTypeOf('function')
  expect('kindOf' in { ...inner }).toBe(false)
  expect('kindOf' in { ...inner.forStore!() }).toBe(false)
})
