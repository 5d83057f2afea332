import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { errorOf } from '../../test/error-of.ts'
import { distinctIds, formatId, ID_BYTES, idBytes, idKey, isId, lowerId, parseId } from './entity-id.ts'

const id = '0192f0c1-7c1e-7abc-8def-0123456789ab'

describe('ids', () => {
  test('formatId and parseId convert 16 bytes to a UUID string and back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: ID_BYTES, maxLength: ID_BYTES }), (bytes) => {
        const text = formatId(bytes)
        expect(isId(text)).toBe(true)
        expect(text).toBe(text.toLowerCase())
        expect([...parseId(text)]).toEqual([...bytes])
      }),
    )
  })

  test('the digits of an id have the order of its bytes', () => {
    expect(parseId(id).toString('hex')).toBe('0192f0c17c1e7abc8def0123456789ab')
    expect(formatId(Uint8Array.from({ length: 16 }, (_, i) => i))).toBe(
      '00010203-0405-0607-0809-0a0b0c0d0e0f',
    )
  })

  test('parseId accepts upper case, and formatId returns lower case', () => {
    expect(formatId(parseId(id.toUpperCase()))).toBe(id)
  })

  test('lowerId returns an id in lower case, and rejects any other value with BAD_ID', () => {
    expect(lowerId(id.toUpperCase())).toBe(id)
    expect(errorOf(() => lowerId('X')).code).toBe('BAD_ID')
    expect(errorOf(() => lowerId(undefined)).code).toBe('BAD_ID')
  })

  test('formatId reads a view into a larger buffer', () => {
    const memory = Buffer.alloc(40, 255)
    parseId(id).copy(memory, 11)
    expect(formatId(memory.subarray(11, 27))).toBe(id)
  })

  test.each([
    '',
    'x',
    id.slice(1),
    `${id}0`,
    ` ${id.slice(1)}`,
    `${id}\n`,
    id.replaceAll('-', ''),
    `{${id}}`,
    id.replace('a', 'g'),
    id.replace('-', '0'),
    null,
    undefined,
    7,
    {},
    [id],
    parseId(id),
  ])('parseId rejects %j with BAD_ID', (text) => {
    expect(isId(text)).toBe(false)
    expect(errorOf(() => parseId(text)).code).toBe('BAD_ID')
  })

  test.each([0, 15, 17])('formatId rejects %i bytes with BAD_ID', (length) => {
    expect(errorOf(() => formatId(new Uint8Array(length))).code).toBe('BAD_ID')
  })

  test.each([undefined, null, '0123456789abcdef', Array.from({ length: 16 })])(
    'formatId rejects %s with BAD_ID',
    (bytes) => {
      expect(errorOf(() => formatId(bytes as never)).code).toBe('BAD_ID')
    },
  )

  test('ids have the same key if and only if their bytes are equal, in any buffer', () => {
    const bytes = fc.uint8Array({ minLength: ID_BYTES, maxLength: ID_BYTES })
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        const memory = Buffer.alloc(40, 255)
        memory.set(a, 11)
        expect(idKey(memory.subarray(11, 27))).toBe(idKey(a))
        expect(idKey(a) === idKey(b)).toBe(Buffer.compare(a, b) === 0)
      }),
    )
    // Each byte value has a character of its own.
    const all = Array.from({ length: 256 }, (_, byte) => idKey(Uint8Array.of(byte)))
    expect(new Set(all).size).toBe(256)
  })

  test('idBytes returns undefined for any other value', () => {
    expect(idBytes(id.toUpperCase())).toEqual(parseId(id))
    for (const text of [id.slice(1), `${id} `, id.replaceAll('-', '0'), id.replace('a', 'g'), 7, null, [id]])
      expect(idBytes(text)).toBeUndefined()
  })

  test('distinctIds returns each id once, in order', () => {
    const [a, b, c] = [3, 1, 2].map((byte) => new Uint8Array(ID_BYTES).fill(byte)) as [
      Uint8Array,
      Uint8Array,
      Uint8Array,
    ]
    expect(distinctIds([a, b, a.slice(), c, b])).toEqual([a, b, c])
    expect(distinctIds(new Set<Uint8Array>())).toEqual([])
  })

  test('the message about a bad id describes the value without showing it', () => {
    expect(errorOf(() => parseId('hunter2')).message).toContain('got a string of 7 characters')
    expect(errorOf(() => parseId('hunter2')).message).not.toContain('hunter2')
  })
})
