import { expect, test } from 'vitest'
import { offeredSection } from './offered-section.ts'

test.each([
  [undefined, '16\u00a0%.'],
  [999, '16\u00a0%.'],
  [1000, '16\u00a0%, 500 rows per second, about one second left.'],
])('a filling that has %s ms left says its rate only if there is time to read it', (timeLeftMs, expected) => {
  const definition = { name: 'by_name', properties: [], shardOn: 'id' } as never
  const status = { state: 'building', generation: 1, unique: false, hidden: false, paused: false } as never
  const part = {
    shard: 0,
    phase: 'entities',
    done: 1,
    total: 2,
    rate: 345_678,
    throttledBy: undefined,
    waited: 0,
  }
  const report = { inProgress: { rate: 500, timeLeftMs, shards: [part] } } as never
  const offered = { definition, hasCleaner: true, generations: [{ status, report }] }
  const { text } = offeredSection(offered, undefined, false)
  expect(text).toContain(`</progress> ${expected}</p>`)
  expect(text.includes('345,678')).toBe(timeLeftMs === 1000)
})

test('the section of a partial index shows its condition', () => {
  const on = { _kind: 'entry', open: true }
  const definition = { name: 'by_name', properties: [], shardOn: 'id', on } as never
  const { text } = offeredSection({ definition, hasCleaner: true, generations: [] }, undefined, false)
  expect(text).toContain('<dt>only for</dt><dd>_kind = &#34;entry&#34; and open = true</dd>')
})

test('the section of a building index says whether a cleaner runs', () => {
  const definition = { name: 'by_name', properties: [], shardOn: 'id' } as never
  const status = { state: 'building', generation: 1, unique: false, hidden: false, paused: false } as never
  const textFor = (hasCleaner: boolean): string =>
    offeredSection({ definition, hasCleaner, generations: [{ status, report: undefined }] }, undefined, false)
      .text
  expect(textFor(true)).toContain('starts to fill it within seconds')
  expect(textFor(false)).toContain('No cleaner runs now')
})
