import { LooseleafError } from 'looseleaf'
import { expect, test } from 'vitest'
import { reportErrors } from './report-errors.ts'

test('an outage is reported by its message and once a minute, and every other error whole', () => {
  const reports: unknown[] = []
  let now = 0
  const onError = reportErrors(
    (error) => reports.push(error),
    () => now,
  )
  const outage = new LooseleafError('SHARD_UNAVAILABLE', 'shard-1: the server cannot be reached.')
  const mistake = new TypeError('a mistake')
  for (let i = 0; i < 5; i++) onError(outage)
  now = 59_999
  onError(outage)
  onError(mistake)
  onError(mistake)
  expect(reports).toEqual([outage.message, mistake, mistake])
  now = 60_000
  onError(outage)
  expect(reports.at(-1)).toBe(outage.message)
  expect(reports).toHaveLength(4)
})
