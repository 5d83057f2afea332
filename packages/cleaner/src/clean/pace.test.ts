import { expect, test } from 'vitest'
import { pace } from '../../test/pace.ts'
import { paceFrom } from './pace.ts'

test('a pace is read from JSON with its reason for waits', () => {
  const slowed = { ...pace, throttledBy: 'lock waits', waited: 0.5 } as const
  expect(paceFrom(JSON.parse(JSON.stringify(slowed)))).toEqual(slowed)
})

test('fields that are no pace count as unknown, and without a time there is no pace', () => {
  const damaged = { savedAt: 5, worker: 7, rate: 'fast', throttledBy: 'mood', waited: 'long' }
  expect(paceFrom(damaged)).toEqual({ savedAt: 5, worker: '', rate: 0, throttledBy: undefined, waited: 0 })
  for (const other of [undefined, 7, { ...damaged, savedAt: 'now' }]) expect(paceFrom(other)).toBeUndefined()
})
