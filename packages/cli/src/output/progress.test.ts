import { expect, test } from 'vitest'
import { progressText } from '../indexes/clean-view.ts'
import { createProgressLines } from './progress.ts'

test('progress without a terminal is a line every five seconds', () => {
  let now = 100
  const lines: string[] = []
  const progress = createProgressLines(
    { label: 'cleaning', unit: 'rows' },
    (line) => void lines.push(line),
    () => now,
  )
  for (let i = 0; i < 120; i++) {
    progress.update(i * 1_000, i / 1_000, '12/s')
    now += 100
  }
  expect(lines).toEqual(['cleaning 5% 50,000 rows, 12/s', 'cleaning 10% 100,000 rows, 12/s'])
  now += 5_000
  progress.update(7, undefined)
  expect(lines.at(-1)).toBe('cleaning 7 rows')
  const aside: string[] = []
  progress.aside(() => void aside.push('aside'))
  progress.stop()
  expect(aside).toEqual(['aside'])
})

test('the progress of a clean has its speed, its remaining time, the next phases and the cause of throttling', () => {
  const at = {
    phase: 'entities',
    remainingPhases: ['dangling', 'check'],
    indexes: ['by_user'],
    shard: 0,
    done: 5,
    total: 10,
    added: 0,
    removed: 0,
    fenced: 0,
    postponed: 0,
    misfits: 0,
    undecodable: 0,
    rate: 1_234,
    timeLeftMs: 180_000,
    throttledBy: 'latency',
    waited: 0.256,
  } as const
  expect(progressText(at)).toBe(
    '1,234/s, about 3 min left, entities, then dangling, check, waits 26% of the time: latency',
  )
  const plain = { ...at, remainingPhases: [], timeLeftMs: undefined, throttledBy: undefined, waited: 0 }
  expect(progressText(plain)).toBe('1,234/s, entities')
})
