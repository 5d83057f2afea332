import { expect, test } from 'vitest'
import { freshRecord, moveSteps, recordFromText, type MoveRecord } from './move-record.ts'

const FULL: MoveRecord = {
  step: 'sealing',
  from: 3,
  buckets: '0-9,77',
  cleared: true,
  place: { updated: 7, addedId: 8 },
  attempt: 2,
  last: { id: '01890a5d-ac96-774b-bcce-b302099a8057', updated: 6 },
  tables: ['index_by_user', 'claims_by_name'],
  counts: { read: 1, entities: 2, rows: 3, claims: 4, late: 5, compared: 6, emptied: 7 },
  total: 100,
  verified: { rows: 12, at: 13, by: 'host:1', stale: true },
  seals: [1.5, 2],
  rate: 30,
  since: 40,
  endedAt: 50,
  worker: 'host:2',
  waitsFor: 'consumers',
}

test('a record is the same after the way through its text, in every step', () => {
  for (const step of moveSteps) {
    const record = { ...FULL, step }
    expect(recordFromText(JSON.stringify(record))).toEqual(record)
  }
  const fresh = freshRecord({ from: 1, buckets: '5' })
  expect(recordFromText(JSON.stringify(fresh))).toEqual(fresh)
})

test.each(['', '[]', '7', '{}', '{"step":"moving"}'])('the text %j is no record', (text) => {
  expect(recordFromText(text)).toBeUndefined()
})

test('parts of a record that are missing or malformed have their first values', () => {
  const fresh = { ...freshRecord({ from: 0, buckets: '' }), step: 'checking', worker: '' }
  expect(recordFromText('{"step":"checking"}')).toEqual(fresh)
  const malformed = {
    step: 'checking',
    cleared: 'yes',
    place: 7,
    last: { id: 'none', updated: 1 },
    tables: [7],
    counts: null,
    verified: true,
    seals: ['1'],
  }
  expect(recordFromText(JSON.stringify(malformed))).toEqual(fresh)
  expect(recordFromText('{"step":"checking","tables":{},"seals":7}')).toEqual(fresh)
  expect(recordFromText('{"step":"checking","verified":{}}')?.verified).toEqual({
    rows: 0,
    at: 0,
    by: '',
    stale: false,
  })
})
