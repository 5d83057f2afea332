import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { codePoint } from '@looseleaf-tooling/kit/code-point'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { errorOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, it } from 'vitest'
import { idOf, lastBytePlacement } from '../../test/model.ts'
import { defineIndex, type IndexDefinition } from '../definitions/define-index.ts'
import { deriveRows } from '../keys/derive-rows.ts'
import { decodeCursor, encodeCursor, type CursorScope } from './cursor.ts'
import { planQuery } from './plan-query.ts'

const byAll = defineIndex('by_all', {
  properties: {
    user: 'uuid',
    title: 'string',
    rank: 'integer',
    score: 'number',
    open: 'boolean',
    at: 'time',
  },
  shardOn: 'user',
})
const user = '00000000-0000-0000-0000-000000000002'

function scopeOf(
  where: unknown = { user },
  options: object = {},
  index: IndexDefinition = byAll,
  generation = 1,
): CursorScope {
  return planQuery({ ...index, generation }, where, { scatter: true, ...options }, lastBytePlacement(2)).scope
}

const bagArbitrary = fc.record({
  user: fc.constant(user),
  title: fc.oneof(fc.string({ unit: codePoint }), fc.constantFrom('x'.repeat(512), 'x'.repeat(513))),
  rank: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  score: fc.double({ noNaN: true, noDefaultInfinity: true }),
  open: fc.boolean(),
  at: fc.date({ noInvalidDate: true }),
})

const way = fc.record({ backward: fc.boolean(), inclusive: fc.boolean() })

const key =
  deriveRows(byAll, { user, title: 'a', rank: 1, score: 0.5, open: true, at: new Date(7) }).keys[0] ?? []
const behind = { backward: false, inclusive: false }
const place = { key, entityId: idOf(9), ...behind }
const cursor = encodeCursor(scopeOf(), place)

describe('a cursor', () => {
  it('a cursor decodes to its place', () => {
    fc.assert(
      fc.property(
        bagArbitrary,
        fc.uint8Array({ minLength: 16, maxLength: 16 }),
        way,
        (bag, entityId, given) => {
          const [derived = []] = deriveRows(byAll, bag).keys
          const text = encodeCursor(scopeOf(), { key: derived, entityId, ...given })
          expect(text).toMatch(/^[\w-]+$/)
          const decoded = decodeCursor(scopeOf(), text)
          expect(decoded).toMatchObject({ key: derived, ...given })
          expect(Buffer.compare(decoded.entityId, entityId)).toBe(0)
        },
      ),
    )
  })

  /** The part with the entity's id and the key, which all of them share. */
  const PLACE = 'AAAAAAAAAAAAAAAAAAAACQAQAAAAAAAAAAAAAAAAAAAAAgABYQAAAAAAAAABP-AAAAAAAAAAAAAAAAAAAQAAAAAAABtY'
  it.each([
    ['asc', { user }, `AQCrzOhks0YPWR7py6B5CwGY${PLACE}Iy3tZ_aA`],
    ['asc', { user, title: { gte: 'a' } }, `AQCrzOhks0YPWdTjgb9XmP3S${PLACE}ayGCVzfG`],
    ['desc', { user }, `AQGrzOhks0YPWR7py6B5CwGY${PLACE}sfGlJw15`],
    ['desc', { user, title: { gte: 'a' } }, `AQGrzOhks0YPWdTjgb9XmP3S${PLACE}BW12_3I3`],
  ])('a forward cursor keeps its first format: %s %j', (order, where, text) => {
    const scope = scopeOf(where, { order })
    expect(encodeCursor(scope, place)).toBe(text)
    expect(decodeCursor(scope, text)).toEqual(place)
  })

  it('a cursor is valid for a list in another order, and with repeats', () => {
    const text = encodeCursor(scopeOf({ user, title: { in: ['a', 'b'] } }), place)
    expect(decodeCursor(scopeOf({ user, title: { in: ['b', 'a', 'b'] } }), text).key).toEqual(key)
  })

  it('the cursor of the longest key decodes', () => {
    const strings = Object.fromEntries([...'abcde'].map((name) => [name, 'string'] as const))
    const index = defineIndex('wide', {
      properties: { ...strings, f: 'uuid', g: 'uuid', h: 'uuid' },
      shardOn: 'f',
    })
    const long = 'x'.repeat(600)
    const bag = { a: long, b: long, c: long, d: long, e: long, f: user, g: user, h: user }
    const scope = scopeOf({}, {}, index as IndexDefinition)
    const [derived = []] = deriveRows(index, bag).keys
    expect(
      decodeCursor(scope, encodeCursor(scope, { key: derived, entityId: idOf(1), ...behind })).key,
    ).toEqual(derived)
  })

  it('a cursor is valid for another limit, and for another spelling of the same values', () => {
    expect(decodeCursor(scopeOf({ user }, { limit: 3 }), cursor).entityId).toEqual(idOf(9))
    const upper = '0000ABCD-0000-0000-0000-000000000002'
    const other = {
      key: [Buffer.from('0000abcd000000000000000000000002', 'hex'), ...key.slice(1)],
      entityId: idOf(9),
      ...behind,
    }
    const text = encodeCursor(scopeOf({ user: upper }), other)
    expect(decodeCursor(scopeOf({ user: upper.toLowerCase() }), text).entityId).toEqual(idOf(9))
  })
})

describe('a bad cursor', () => {
  const other = (name: string): IndexDefinition => ({ ...byAll, name })
  it.each<[string, CursorScope, unknown, RegExp]>([
    [
      'of another index',
      scopeOf({ user }, {}, other('by_other')),
      cursor,
      /index by_other belongs to another index/,
    ],
    ['of another generation', scopeOf({ user }, {}, byAll, 2), cursor, /an earlier definition/],
    ['of the other order', scopeOf({ user }, { order: 'desc' }), cursor, /another order than desc/],
    ['of another where', scopeOf({ user: '00000000-0000-0000-0000-000000000003' }), cursor, /another where/],
    ['of a shorter where', scopeOf({}), cursor, /another where/],
    ['of a where with a range', scopeOf({ user, title: { gte: 'a' } }), cursor, /another where/],
    ['that is no string', scopeOf(), 5, /has to be a string; got a number/],
    ['that is empty', scopeOf(), '', /damaged/],
    ['that is too long', scopeOf(), 'A'.repeat(5000), /longer than any cursor: 5000 characters/],
    ['with something behind it', scopeOf(), `${cursor}A`, /damaged/],
    ['with blanks in it', scopeOf(), `${cursor.slice(0, 8)} ${cursor.slice(8)}`, /damaged/],
    ['in plain base64', scopeOf(), `${cursor}=`, /damaged/],
  ])('a cursor %s is refused', (_, scope, text, message) => {
    const error = errorOf(() => decodeCursor(scope, text))
    expect(error.code).toBe('BAD_CURSOR')
    expect(error.message).toMatch(message)
  })

  it.each([
    ['an inclusive bound for an exclusive one', { user, title: { gt: 'a' } }, { user, title: { gte: 'a' } }],
    ['a lower bound for an upper one', { user, title: { gt: 'a' } }, { user, title: { lt: 'a' } }],
    ['a list for a value', { user, title: 'a' }, { user, title: { in: ['a', 'b'] } }],
    ['a longer list', { user, title: { in: ['a', 'b'] } }, { user, title: { in: ['a', 'b', 'c'] } }],
    [
      'a list for a range between',
      { user, title: { in: ['a', 'b'] } },
      { user, title: { gte: 'a', lte: 'b' } },
    ],
    ['an equal value for a bound', { user, title: 'a' }, { user, title: { gte: 'a' } }],
    [
      'a long bound for another with the same beginning',
      { user, title: { gt: 'x'.repeat(600) } },
      { user, title: { gt: 'x'.repeat(601) } },
    ],
  ])('a cursor is refused for a where with %s', (_, where, otherWhere) => {
    const text = encodeCursor(scopeOf(where), place)
    expect(decodeCursor(scopeOf(where), text).key).toEqual(key)
    expect(errorOf(() => decodeCursor(scopeOf(otherWhere), text)).code).toBe('BAD_CURSOR')
  })

  it('a cursor with a changed bit is refused', () => {
    const bytes = Buffer.from(cursor, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      expect(errorOf(() => decodeCursor(scopeOf(), changed.toString('base64url'))).code).toBe('BAD_CURSOR')
    }
  })

  /** Encodes a payload with a valid checksum, which only a forged cursor has. */
  const sealed = (payload: Uint8Array): string => {
    const checksum = createHash('sha256').update(payload).digest().subarray(0, 6)
    return Buffer.concat([payload, checksum]).toString('base64url')
  }
  const payload = Buffer.from(cursor, 'base64url').subarray(0, -6)

  it('a cursor of a later format is refused', () => {
    const later = Buffer.from(payload)
    later[0] = 3
    expect(errorOf(() => decodeCursor(scopeOf(), sealed(later))).message).toMatch(
      /format that this version does not know/,
    )
  })

  it('a cursor with a direction that its format lacks is refused', () => {
    for (const [format, wayByte] of [
      [1, 2],
      [1, 4],
      [2, 0],
      [2, 1],
      [2, 2 + 8],
    ]) {
      const changed = Buffer.from(payload)
      changed.set([format as number, wayByte as number])
      expect(errorOf(() => decodeCursor(scopeOf(), sealed(changed))).code).toBe('BAD_CURSOR')
    }
  })

  it('a cursor with a valid checksum and a key outside the query is refused', () => {
    const elsewhere = Buffer.from(payload)
    elsewhere.writeUInt8(7, 34 + 2 + 15)
    const notFinite = Buffer.from(payload)
    notFinite.writeDoubleBE(Number.NaN, payload.length - 24)
    const cases = [
      Buffer.concat([Buffer.of(2, 2), elsewhere.subarray(2)]),
      payload.subarray(0, -1),
      Buffer.concat([payload, Buffer.of(0)]),
      payload.subarray(0, 35),
      elsewhere,
      notFinite,
    ]
    for (const bytes of cases) {
      expect(errorOf(() => decodeCursor(scopeOf(), sealed(bytes))).message).toMatch(
        /its place is not one of this index/,
      )
    }
  })

  it('decodeCursor throws BAD_CURSOR and nothing else for any input', () => {
    const garbage = fc.oneof(
      fc.anything(),
      fc.string(),
      fc.base64String(),
      fc
        .uint8Array({ maxLength: 200 })
        .map((bytes) => sealed(Buffer.concat([payload.subarray(0, 34), bytes]))),
    )
    fc.assert(
      fc.property(garbage, (text) => {
        expect(errorOf(() => decodeCursor(scopeOf(), text)).code).toBe('BAD_CURSOR')
      }),
      { numRuns: runsOf(500) },
    )
  })
})
