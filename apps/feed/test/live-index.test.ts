import { expect, test } from 'vitest'
import { addIndexLive } from '../src/day/run/live-index.ts'
import { dayPrograms } from './day-programs.ts'

test(
  'live index: the site fills an index of a sample while homes are visited',
  { timeout: 120_000 },
  async () => {
    const report = await addIndexLive({
      programs: await dayPrograms(),
      entries: 400,
      visits: 5,
      before: 1,
      onStep: () => {},
    })
    expect(report.failures).toEqual([])
    expect(report).toMatchObject({ entries: 400, failed: 0, status5xx: 0 })
    expect(report.visitsBefore).toBeGreaterThan(0)
    expect(report.filledMs).toBeGreaterThan(0)
  },
)
