import type { Bag, PropertyValue } from '@looseleaf/core'
import { MAX_VALUES } from '@looseleaf/core/internal'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { compressedBody, bodyOfArrays, jsonBombs, msgpackBombs, type BombMaker } from '../test/bombs.ts'
import { envelopeCodec, jsonCodec, jsonFormat, msgpackFormat, msgpackZlibCodec } from './index.ts'

const formats = [
  ['msgpack', msgpackFormat, msgpackBombs],
  ['json', jsonFormat, jsonBombs],
] as const

/** Counts all nested values. */
function countValues(value: PropertyValue | Bag | undefined): number {
  if (typeof value !== 'object' || value === null || value instanceof Date || value instanceof Uint8Array)
    return 0
  return Object.values(value).reduce<number>(
    (sum, nested) => sum + 1 + countValues(nested as PropertyValue),
    0,
  )
}

/** Builds bytes of `total` values from the chosen elements; the last elements are of one value each. */
function filledTo(maker: BombMaker, chosen: readonly number[], total: number): Uint8Array {
  const elements: Uint8Array[] = []
  let values = 1
  for (let i = 0; values < total; i++) {
    const index = (chosen[i % chosen.length] as number) % maker.elements.length
    const [bytes, more] = maker.elements[index] as BombMaker['elements'][number]
    const [plain] = maker.elements[0] as BombMaker['elements'][number]
    elements.push(values + more <= total ? bytes : plain)
    values += values + more <= total ? more : 1
  }
  return maker.bytesOf(elements)
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe.each(formats)('%s', (_, format, maker) => {
  const choices = fc.array(fc.nat(), { minLength: 1, maxLength: 12 })

  test('generated bodies of up to MAX_VALUES values are read', () => {
    fc.assert(
      fc.property(choices, fc.constantFrom(0, 1, 7, MAX_VALUES / 2), (chosen, fewer) => {
        const bag = format.decode(filledTo(maker, chosen, MAX_VALUES - fewer))
        expect(countValues(bag)).toBe(MAX_VALUES - fewer)
        // A bag that can be read can also be written.
        expect(countValues(format.decode(format.encode(bag)))).toBe(MAX_VALUES - fewer)
      }),
      { numRuns: runsOf(12) },
    )
  })

  test('generated bodies of more than MAX_VALUES values are BODY_TOO_LARGE', () => {
    const parse = vi.spyOn(JSON, 'parse')
    const more = fc.oneof(fc.constantFrom(1, 2), fc.integer({ min: 3, max: 5 * MAX_VALUES }))
    fc.assert(
      fc.property(choices, more, (chosen, beyond) => {
        const bytes = filledTo(maker, chosen, MAX_VALUES + beyond)
        expect(codeOf(() => format.decode(bytes))).toBe('BODY_TOO_LARGE')
        expect(codeOf(() => envelopeCodec().decode(compressedBody(maker, bytes)))).toBe('BODY_TOO_LARGE')
        // `JSON.parse` would build all values. The reader of MessagePack counts while it builds.
        expect(parse).not.toHaveBeenCalled()
      }),
      { numRuns: runsOf(12) },
    )
  })
})

test.each([
  ['in one array', bodyOfArrays(msgpackBombs, 8_000_000)],
  // Each array announces only its own elements, so the count grows array by array.
  [
    'in many',
    compressedBody(
      msgpackBombs,
      Buffer.concat([Buffer.from('81a161dd00000fff', 'hex'), Buffer.alloc(0xfff * 2003, manyArrays())]),
    ),
  ],
])('8 million empty arrays %s are BODY_TOO_LARGE, before more than MAX_VALUES are built', (_, body) => {
  expect(body.length).toBeLessThan(40_000)
  const codec = envelopeCodec({ maxBodyBytes: 2 ** 24 - 1 })
  codeOf(() => codec.decode(body))
  const before = process.memoryUsage().heapUsed
  expect(codeOf(() => codec.decode(body))).toBe('BODY_TOO_LARGE')
  // All arrays would take at least 128 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(64_000_000)
})

/** MessagePack of an array of 2,000 empty arrays. */
function manyArrays(): Buffer {
  return Buffer.concat([Buffer.from('dc07d0', 'hex'), Buffer.alloc(2000, 0x90)])
}

test('a map or array that announces more items than its bytes hold is BODY_DAMAGED', () => {
  expect(codeOf(() => msgpackFormat.decode(Buffer.from('81a161dfffffffff', 'hex')))).toBe('BODY_DAMAGED')
  expect(codeOf(() => msgpackFormat.decode(Buffer.from('81a161ddffffffff', 'hex')))).toBe('BODY_DAMAGED')
})

test('a codec reads each value of a bag once', () => {
  for (const codec of [msgpackZlibCodec(), jsonCodec()]) {
    let reads = 0
    const changing = {
      get n() {
        // A second read would return a value that cannot be stored.
        return ++reads === 1 ? 1 : Symbol('x')
      },
    }
    const body = codec.encode({ list: [changing as unknown as PropertyValue] })
    expect(codec.decode(body)).toStrictEqual({ list: [{ n: 1 }] })
  }
})
