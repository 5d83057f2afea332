import { formatId, LooseleafError, parseId, type Bag, type EntityId } from '@looseleaf/core'
import { describe, expect, test } from 'vitest'
import { unchanged } from '../unchanged.ts'
import {
  toCheck,
  toDelete,
  toDeleteDamaged,
  toEdit,
  toInsert,
  toPut,
  toUpdate,
  type CurrentEntity,
} from './decisions.ts'

const ENTITY = '01890a5d-ac96-774b-bcce-b302099a8057' as EntityId
const OTHER = '01890a5d-ac96-774b-bcce-b302099a8058' as EntityId
const id = parseId(ENTITY)
const bytes = Buffer.from('stored')
const error = new LooseleafError('BODY_DAMAGED', 'The body is damaged.')

const living: CurrentEntity = { version: 7, bag: { n: 1 }, damaged: undefined, body: bytes }
const damaged: CurrentEntity = { version: 7, bag: undefined, damaged: error, body: bytes }
const tombstone: CurrentEntity = { version: 7, bag: undefined, damaged: undefined, body: null }

const mismatch = (message: string): unknown =>
  expect.objectContaining({ code: 'VERSION_MISMATCH', entity: ENTITY, message })

describe('a write at a version', () => {
  test.each([
    ['put', toPut(id, { n: 2 }, 5)],
    ['update', toUpdate(id, () => ({ n: 2 }), 5)],
    ['delete', toDelete(id, 5)],
    ['check', toCheck(id, 5)],
    ['edit of a kind', toEdit(id, () => ({ n: 2 }), 5)],
  ])('a %s at another version is VERSION_MISMATCH, and the message has both versions', (_, decide) => {
    expect(() => decide(living)).toThrow(mismatch(`Entity ${ENTITY} is at version 7, not at 5.`))
  })

  test('a tombstone has the version 0 for its callers, and a damaged entity has its own', () => {
    expect(() => toDelete(id, 7)(tombstone)).toThrow(
      mismatch(`Entity ${ENTITY} is at version 0 (there is none), not at 7.`),
    )
    expect(toPut(id, { n: 2 }, 0)(tombstone)).toEqual({ n: 2 })
    expect(toPut(id, { n: 2 }, 7)(damaged)).toEqual({ n: 2 })
    expect(toDelete(id, 7)(damaged)).toBeNull()
  })

  test('an edit of a kind decides about a missing entity itself, whatever its version', () => {
    const seen: unknown[] = []
    const decide = toEdit(id, (bag, of) => (seen.push([bag, of]), { n: 3 }), 7)
    expect(decide(tombstone)).toEqual({ n: 3 })
    expect(seen).toEqual([[undefined, ENTITY]])
  })
})

describe('an edit', () => {
  test('the error of a damaged body is thrown before the edit is called', () => {
    const edit = (): never => {
      throw new Error('called')
    }
    expect(() => toUpdate(id, edit, undefined)(damaged)).toThrow(error)
    expect(() => toEdit(id, edit, undefined)(damaged)).toThrow(error)
  })

  test('an update returns the edited bag without its id, and refuses the id of another entity', () => {
    const edited = (bag: Bag): unknown => toUpdate(id, () => bag, undefined)(living)
    expect(edited({ id: ENTITY.toUpperCase(), n: 2 })).toEqual({ n: 2 })
    expect(() => edited({ id: OTHER, n: 2 })).toThrow(
      expect.objectContaining({
        code: 'BAD_ID',
        entity: ENTITY,
        message: `The bag given for entity ${ENTITY} has another id.`,
      }),
    )
  })

  test('a bag of an update that cannot be stored has the error of its copy, not that of a promise', () => {
    const act = (): unknown => toUpdate(id, () => ({ f: () => {} }) as never, undefined)(living)
    expect(act).toThrow(
      expect.objectContaining({ code: 'BAD_PROPERTY', message: expect.not.stringContaining('promise') }),
    )
  })

  test('an edit of a kind keeps, deletes or replaces the entity', () => {
    expect(toEdit(id, () => unchanged, undefined)(living)).toBeUndefined()
    expect(toEdit(id, () => null, undefined)(living)).toBeNull()
    expect(toEdit(id, () => ({ id: formatId(id), n: 2 }), undefined)(living)).toEqual({ n: 2 })
  })
})

test('an insert over a damaged entity is ALREADY_EXISTS, and one over a tombstone takes place', () => {
  expect(() => toInsert(id, {})(damaged)).toThrow(expect.objectContaining({ code: 'ALREADY_EXISTS' }))
  expect(toInsert(id, { n: 2 })(tombstone)).toEqual({ n: 2 })
})

describe('a delete of a damaged entity', () => {
  const found = { id: ENTITY, version: 7, body: bytes, shard: 'shard 0', error }

  test.each<[string, Partial<CurrentEntity>, Partial<typeof found> | { body: null }]>([
    ['whole', { damaged: undefined, bag: {} }, {}],
    ['damaged in another way', { damaged: new LooseleafError('BODY_UNKNOWN', 'Later.') }, {}],
    ['at another version', { version: 8 }, {}],
    ['of other bytes', { body: Buffer.from('other') }, {}],
    ['a tombstone now', { body: null }, {}],
    ['one that was found without bytes', {}, { body: null }],
    ['without bytes now and then', { body: null }, { body: null }],
  ])('an entity that is %s stays', (_, now, then) => {
    expect(toDeleteDamaged({ ...found, ...then } as never)({ ...damaged, ...now })).toBeUndefined()
  })

  test('an entity with the version and the bytes that were found is deleted', () => {
    expect(toDeleteDamaged(found as never)({ ...damaged, body: Buffer.from('stored') })).toBeNull()
  })
})
