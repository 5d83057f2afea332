import { parseId } from '@looseleaf/core'
import { describe, expect, it } from 'vitest'
import { defineIndex, type IndexDefinition } from '../definitions/define-index.ts'
import { deriveRows } from './derive-rows.ts'
import { placeOfNear, type Near, type NearKey } from './near-key.ts'
import { bucketOfRow } from './shard-of-row.ts'

const recorded = {
  ofId: (id: Uint8Array) => `id ${Buffer.from(id).toString('hex')}`,
  ofKey: (key: Uint8Array) => `key ${Buffer.from(key).toString('hex')}`,
}
const ID = '0192f0c1-7c1e-7abc-8def-0123456789ab'

describe('the place near an id or a key', () => {
  it.each<[string, NearKey, unknown]>([
    ['uuid', { uuid: ID.toUpperCase() }, ID],
    ['string', { string: 'é' }, 'é'],
    ['a string of more bytes than a column holds', { string: 'x'.repeat(600) }, 'x'.repeat(600)],
    ['integer', { integer: -7 }, -7],
    ['bigint', { integer: 2n ** 62n }, 2n ** 62n],
    ['number', { number: -0 }, -0],
    ['boolean', { boolean: true }, true],
    ['time', { time: new Date(1) }, new Date(1)],
  ])('a key of the kind %s has the place of the row that is sharded on it', (_, near, value) => {
    const [type] = Object.keys(near)
    const index = defineIndex('a', { properties: { p: type as 'string' }, shardOn: 'p' }) as IndexDefinition
    const { keys, misfits } = deriveRows(index, { p: value as string })
    expect(misfits).toEqual([])
    // `bucketOfRow` passes on whatever the two functions return.
    const place = bucketOfRow(index, recorded as never, keys[0]!, parseId(ID)) as unknown
    expect(placeOfNear<string>(near, recorded)).toBe(place)
  })

  it('an id in any case has the place of its bytes', () => {
    expect(placeOfNear<string>(ID.toUpperCase(), recorded)).toBe(`id ${ID.replaceAll('-', '')}`)
  })

  it.each<[string, unknown, string, RegExp]>([
    ['text that is no id', 'acme', 'BAD_ID', /an id, or a key under its type such as \{ string: 'acme' \}/],
    ['a number', 7, 'BAD_OPTION', /Got a number\./],
    ['null', null, 'BAD_OPTION', /Got null\./],
    ['an empty object', {}, 'BAD_OPTION', /Got an object\./],
    ['an unknown type', { text: 'acme' }, 'BAD_OPTION', /of another form/],
    ['two keys', { string: 'acme', number: 1 }, 'BAD_OPTION', /of another form/],
    ['a value of another type', { string: 7 }, 'BAD_OPTION', /a string is expected, got a number/],
    ['a number that is not finite', { number: Number.NaN }, 'BAD_OPTION', /a finite number is expected/],
    ['a uuid that is none', { uuid: 'secret' }, 'BAD_OPTION', /a UUID string is expected/],
  ])('%s is no place', (_, near, code, message) => {
    const place = (): unknown => placeOfNear(near as Near, recorded)
    expect(place).toThrow(message)
    expect(place).toThrow(expect.objectContaining({ code, message: expect.not.stringContaining('secret') }))
  })
})
