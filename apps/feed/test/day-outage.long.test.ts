import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { isGoodDay } from '../src/day/run/day-command.ts'
import { playDay } from '../src/day/run/day.ts'
import { dayPrograms } from './day-programs.ts'

test(
  'the day with a stopped shard: pages are partial, forms are refused in plain words, and nothing is lost',
  { timeout: 180_000 },
  async ({ skip }) => {
    skip(!isLong, 'it takes a minute; LOOSELEAF_LONG=1 runs it')
    const report = await playDay({
      programs: await dayPrograms(),
      readers: 30,
      follows: 4,
      seconds: 15,
      people: 8,
      sources: 4,
      rates: { item: 2, post: 3, comment: 2, like: 3 },
      visits: 4,
      crawlEvery: 0.3,
      kill: [],
      stopShard: 0,
      seed: 7,
      onStep: () => {},
    })
    expect(report.failures).toEqual([])
    expect(isGoodDay(report)).toBe(true)
    const { status5xx, partial, refusedSenders, delivered, expected } = report
    expect({ status5xx, isEqual: delivered === expected }).toEqual({ status5xx: 0, isEqual: true })
    expect(Math.min(partial, refusedSenders)).toBeGreaterThan(0)
  },
)
