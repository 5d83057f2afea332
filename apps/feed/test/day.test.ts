import { expect, test } from 'vitest'
import { playDay } from '../src/day/run/day.ts'
import { dayPrograms } from './day-programs.ts'

test(
  'the day: everybody gets every entry once, although each process is killed',
  { timeout: 120_000 },
  async () => {
    const report = await playDay({
      programs: await dayPrograms(),
      readers: 30,
      follows: 4,
      seconds: 5,
      people: 5,
      sources: 4,
      rates: { item: 2, post: 2, comment: 2, like: 3 },
      visits: 2,
      crawlEvery: 0.3,
      kill: ['deliver', 'web', 'crawler'],
      seed: 7,
      onStep: () => {},
    })
    expect(report.failures).toEqual([])
    const { missing, double, failed, miscounted, behind, status5xx, kills } = report
    expect({ missing, double, failed, miscounted, behind, status5xx, kills }).toEqual({
      missing: 0,
      double: 0,
      failed: 0,
      miscounted: 0,
      behind: 0,
      status5xx: 0,
      kills: 3,
    })
    expect(report.delivered).toBe(report.expected)
    expect(report.expected).toBeGreaterThan(50)
    expect(report.entries).toBeGreaterThan(10)
    expect(report.posts).toBeGreaterThan(3)
    expect(report.visits).toBeGreaterThan(5)
  },
)
