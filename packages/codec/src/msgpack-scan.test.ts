import { deepStrictEqual } from 'node:assert/strict'
import { isLooseleafError } from '@looseleaf/core'
import * as fc from 'fast-check'
// Not the entry that the format takes: this one loads the native part, from then on for every user in the process.
import { Packr } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { arbitraryBag } from '@looseleaf-tooling/arbitrary-bag'
import { msgpackFormat } from './msgpack-format.ts'
import { scanMsgpack } from './msgpack-scan.ts'

describe('scanMsgpack', () => {
  test('accepts what msgpackr writes, and counts the properties', () => {
    // Maps of 16 bits throughout, which the format never writes.
    const packr = new Packr({ useRecords: false, useToJSON: false })
    fc.assert(
      fc.property(arbitraryBag, (bag) => {
        const bytes = packr.pack(bag)
        const scanned = scanMsgpack(bytes)
        expect(scanned.properties).toBeGreaterThanOrEqual(Object.keys(bag).length)
        deepStrictEqual(msgpackFormat.decode(bytes), bag)
      }),
      { numRuns: 60 },
    )
  })

  test('hands on the very bytes that came, where nothing in them needs other words', () => {
    const bytes = msgpackFormat.encode({ a: ['text', 1.5, new Date(5)], b: { c: 'x'.repeat(100) } })
    const scanned = scanMsgpack(bytes)
    expect(scanned.bytes.buffer === bytes.buffer && scanned.bytes.byteOffset === bytes.byteOffset).toBe(true)
    expect(scanned.properties).toBe(3)
  })

  test('hands on a long text with a byte order mark as an extension, in a copy', () => {
    const bytes = msgpackFormat.encode({ a: `\ufeff${'x'.repeat(62)}`, b: 'y' })
    const scanned = scanMsgpack(bytes)
    expect(bytes.subarray(3, 8)).toEqual(Buffer.from('d941efbbbf', 'hex'))
    expect(scanned.bytes.subarray(3, 8)).toEqual(Buffer.from('c740efbbbf', 'hex'))
    expect(scanned.bytes.subarray(8)).toEqual(bytes.subarray(8))
  })

  test('refuses what any Packr of another setting writes beyond a bag', () => {
    const records = new Packr({ moreTypes: true })
    for (const value of [
      { a: 1, b: 2 },
      [{ a: 1 }],
      { a: new Set([1]) },
      { a: /x/ },
      { a: undefined },
      { a: new Error('x') },
      { a: new Float64Array(2) },
    ]) {
      expect(accepts(records.pack(value))).toBe(false)
    }
    const bundled = new Packr({ useRecords: false, bundleStrings: true })
    expect(accepts(bundled.pack({ a: 'a text that is bundled', b: 'another one' }))).toBe(false)
    const cloned = new Packr({ useRecords: false, structuredClone: true })
    const shared = [1]
    expect(accepts(cloned.pack({ a: shared, b: shared }))).toBe(false)
  })

  test('accepts no part of what is written', () => {
    fc.assert(
      fc.property(arbitraryBag, (bag) => {
        const bytes = msgpackFormat.encode(bag)
        const step = Math.max(1, bytes.length >> 5)
        for (let length = 0; length < bytes.length; length += step) {
          if (accepts(bytes.subarray(0, length))) expect.fail(`accepted ${length} of ${bytes.length} bytes`)
        }
      }),
      { numRuns: 30 },
    )
  })

  test('what it accepts of changed bytes, msgpackr unpacks: a bag that comes back', () => {
    let accepted = 0
    const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }))
    fc.assert(
      fc.property(arbitraryBag, fc.array(change, { minLength: 40, maxLength: 40 }), (bag, changes) => {
        const bytes = msgpackFormat.encode(bag)
        for (const [place, byte] of changes) {
          const changed = Buffer.from(bytes)
          changed[place % changed.length] = byte
          if (!accepts(changed)) continue
          let read
          try {
            read = msgpackFormat.decode(changed)
          } catch (error) {
            // A change may have given two properties one name; nothing else may be left to refuse.
            expect(String(error)).toContain('a property name is repeated')
            continue
          }
          accepted++
          deepStrictEqual(msgpackFormat.decode(msgpackFormat.encode(read)), read)
        }
      }),
      { numRuns: 40, seed: 20090227 },
    )
    expect(accepted).toBeGreaterThan(200)
  })
})

function accepts(bytes: Uint8Array): boolean {
  try {
    scanMsgpack(bytes)
    return true
  } catch (error) {
    if (isLooseleafError(error, 'BODY_DAMAGED')) return false
    throw error
  }
}
