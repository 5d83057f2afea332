import { expect, test } from 'vitest'
import { createKeptPlaces, type Place } from './kept-places.ts'

test('a word for a place is only valid for its table and shard', () => {
  const places = createKeptPlaces()
  const place: Place = { key: [1n], entityId: new Uint8Array(16) }
  const word = places.keep('index_secret 0', place)
  expect(places.find('index_secret 0', word)).toBe(place)
  expect(places.find('index_secret 1', word)).toBeUndefined()
  expect(places.find('index_open 0', word)).toBeUndefined()
})
