import { createThrottle } from '@looseleaf/protocol/internal'
import { describe, expect, it } from 'vitest'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { emptyTally } from '../pass/tally.ts'
import { freshPart, phases, type Part } from './part.ts'
import { createProgressMeter, type CleanProgress, type MeterOptions, type ProgressMeter } from './progress.ts'

const partOf = (seen: number, total: number, added: number): Part => ({
  ...freshPart('run'),
  seen,
  total,
  tally: { ...emptyTally(), added, removed: 2 * added, fenced: 3, postponed: 4, misfits: 5, undecodable: 6 },
})

function meterOf(options: Partial<MeterOptions> = {}): {
  readonly meter: ProgressMeter
  readonly reports: CleanProgress[]
  readonly time: ReturnType<typeof leapingTime>
} {
  const time = leapingTime()
  const reports: CleanProgress[] = []
  const meter = createProgressMeter({
    time,
    throttle: createThrottle(time, undefined),
    shardsNow: () => [0, 1],
    planned: phases,
    onProgress: (progress) => void reports.push(progress),
    ...options,
  })
  return { meter, reports, time }
}

describe('progress', () => {
  it('progress is that of the furthest part, with the sums of all parts', () => {
    const { meter, reports, time } = meterOf()
    meter.count(0, 10)
    meter.count(1, 20)
    time.leap(1_500)
    meter.report('entities', 1, [
      { index: 'a', part: partOf(7, 20, 1) },
      { index: 'b', part: partOf(9, 10, 2) },
      { index: 'a', part: partOf(1, 1, 0) },
    ])
    expect(reports).toEqual([
      {
        phase: 'entities',
        remainingPhases: ['dangling', 'check'],
        indexes: ['a', 'b'],
        shard: 1,
        done: 9,
        total: 20,
        added: 3,
        removed: 6,
        fenced: 9,
        postponed: 12,
        misfits: 15,
        undecodable: 18,
        rate: 20,
        timeLeftMs: undefined,
        throttledBy: undefined,
        waited: 0,
      },
    ])
  })

  it('`done` never exceeds `total`, and there is a rate from the start', () => {
    const { meter, reports } = meterOf()
    meter.report('check', 0, [{ index: 'a', part: partOf(8, 5, 0) }])
    meter.count(0, 3)
    meter.report('ready', 0, [])
    expect(reports).toMatchObject([
      { done: 8, total: 8, rate: 0, remainingPhases: [] },
      { phase: 'ready', done: 0, total: 0, rate: 3_000, remainingPhases: [], timeLeftMs: 0 },
    ])
  })

  it('the rate covers the last 15 seconds', () => {
    const { meter, reports, time } = meterOf()
    meter.count(0, 1_000_000)
    time.leap(15_000)
    meter.count(0, 300)
    meter.report('entities', 0, [])
    expect(reports[0]!.rate).toBe(20)
  })

  it('the time left is estimated for all remaining phases on all shards, at the current rate', () => {
    const { meter, reports, time } = meterOf()
    const part = partOf(50, 100, 25)
    meter.begin(0, [{ index: 'a', part }])
    meter.count(0, 50)
    time.leap(1_000)
    meter.report('entities', 0, [{ index: 'a', part }])
    // On each shard 50 entities remain, 50 rows by the ratio so far, and 100 entities to check with 50 rows.
    expect(reports[0]!.timeLeftMs).toBe(((2 * (50 + 50 + 150)) / 50) * 1_000)
  })

  it('phases that are not planned do not count', () => {
    const { meter, reports, time } = meterOf({ shardsNow: () => [0], planned: ['entities', 'dangling'] })
    const part = partOf(50, 100, 50)
    meter.begin(0, [{ index: 'a', part }])
    meter.count(0, 100)
    time.leap(1_000)
    meter.report('entities', 0, [{ index: 'a', part }])
    expect(reports[0]).toMatchObject({ remainingPhases: ['dangling'], timeLeftMs: 1_500 })
  })

  it('progress and pace report the reason for waits', () => {
    const throttle = { ...createThrottle(leapingTime(), 1), recentWaits: () => slowed }
    const slowed = { throttledBy: 'latency', waited: 0.25 } as const
    const { meter, reports } = meterOf({ throttle })
    meter.report('entities', 0, [])
    expect(reports[0]).toMatchObject(slowed)
    expect(meter.paceOf(0)).toMatchObject(slowed)
  })

  it('each shard has a pace, with its worker and time', () => {
    const { meter, time } = meterOf()
    meter.count(0, 30)
    meter.count(1, 10)
    time.leap(1_000)
    expect(meter.paceOf(0)).toMatchObject({ rate: 30, savedAt: time.now() })
    expect(meter.paceOf(1)).toMatchObject({ rate: 10 })
    expect(meter.paceOf(0).worker).toContain(`:${process.pid}`)
  })

  it('a report without `onProgress` does nothing', () => {
    const { meter, reports } = meterOf({ onProgress: undefined })
    meter.report('ready', 0, [])
    expect(reports).toEqual([])
  })
})
