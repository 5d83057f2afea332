import { describe, expect, it } from 'vitest'
import { leapingTime } from '../../test/times.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { emptyTally } from '../pass/tally.ts'
import { createThrottle } from '../pass/throttle.ts'
import { freshPart, phases, type Part } from './part.ts'
import { createProgressMeter, type CleanProgress, type MeterOptions, type ProgressMeter } from './progress.ts'

const partOf = (seen: number, total: number, added: number): Part => ({
  ...freshPart('run'),
  seen,
  total,
  tally: { ...emptyTally(), added, removed: 2 * added, fenced: 3, waiting: 4, misfits: 5, undecodable: 6 },
})

function meterOf(options: Partial<MeterOptions> = {}): {
  readonly meter: ProgressMeter
  readonly told: CleanProgress[]
  readonly time: ReturnType<typeof leapingTime>
} {
  const time = leapingTime()
  const told: CleanProgress[] = []
  const meter = createProgressMeter({
    time,
    throttle: createThrottle(time, undefined),
    shards: 2,
    planned: phases,
    onProgress: (progress) => void told.push(progress),
    onWork: undefined,
    ...options,
  })
  return { meter, told, time }
}

describe('progress', () => {
  it('is that of the part that is furthest, with the sums of all', () => {
    const { meter, told, time } = meterOf()
    meter.count(0, 10)
    meter.count(1, 20)
    time.leap(1_500)
    meter.tell('entities', 1, [
      { index: 'a', part: partOf(7, 20, 1) },
      { index: 'b', part: partOf(9, 10, 2) },
      { index: 'a', part: partOf(1, 1, 0) },
    ])
    expect(told).toEqual([
      {
        phase: 'entities',
        toCome: ['dangling', 'check'],
        indexes: ['a', 'b'],
        shard: 1,
        done: 9,
        total: 20,
        added: 3,
        removed: 6,
        fenced: 9,
        waiting: 12,
        misfits: 15,
        undecodable: 18,
        rate: 20,
        timeLeftMs: undefined,
        throttledBy: undefined,
        waited: 0,
      },
    ])
  })

  it('is never more done than there is, and has a rate from the start', () => {
    const { meter, told } = meterOf()
    meter.tell('check', 0, [{ index: 'a', part: partOf(8, 5, 0) }])
    meter.count(0, 3)
    meter.tell('ready', 0, [])
    expect(told).toMatchObject([
      { done: 8, total: 8, rate: 0, toCome: [] },
      { phase: 'ready', done: 0, total: 0, rate: 3_000, toCome: [], timeLeftMs: 0 },
    ])
  })

  it('has the rate of the last 15 seconds, whatever was before', () => {
    const { meter, told, time } = meterOf()
    meter.count(0, 1_000_000)
    time.leap(15_000)
    meter.count(0, 300)
    meter.tell('entities', 0, [])
    expect(told[0]!.rate).toBe(20)
  })

  it('estimates the time for all phases to come, on all shards, at the rate of now', () => {
    const { meter, told, time } = meterOf()
    const part = partOf(50, 100, 25)
    meter.begin(0, [{ index: 'a', part }])
    meter.count(0, 50)
    time.leap(1_000)
    meter.tell('entities', 0, [{ index: 'a', part }])
    // 50 entities, 50 rows of 100 entities by those so far, 100 entities to check; and as much on the other shard.
    expect(told[0]!.timeLeftMs).toBe(((2 * (50 + 50 + 100)) / 50) * 1_000)
  })

  it('leaves out phases that are not planned', () => {
    const { meter, told, time } = meterOf({ shards: 1, planned: ['entities', 'dangling'] })
    const part = partOf(50, 100, 50)
    meter.begin(0, [{ index: 'a', part }])
    meter.count(0, 100)
    time.leap(1_000)
    meter.tell('entities', 0, [{ index: 'a', part }])
    expect(told[0]).toMatchObject({ toCome: ['dangling'], timeLeftMs: 1_500 })
  })

  it('says what holds the work up', () => {
    const throttle = { ...createThrottle(leapingTime(), 1), lately: () => slowed }
    const slowed = { throttledBy: 'latency', waited: 0.25 } as const
    const { meter, told } = meterOf({ throttle })
    meter.tell('entities', 0, [])
    expect(told[0]).toMatchObject(slowed)
    expect(meter.paceOf(0)).toMatchObject(slowed)
  })

  it('has a pace for each shard, which says by whom and when', () => {
    const { meter, time } = meterOf()
    meter.count(0, 30)
    meter.count(1, 10)
    time.leap(1_000)
    expect(meter.paceOf(0)).toMatchObject({ rate: 30, savedAt: time.now() })
    expect(meter.paceOf(1)).toMatchObject({ rate: 10 })
    expect(meter.paceOf(0).worker).toContain(`:${process.pid}`)
  })

  it('need not be told to anybody, and work can be told besides', () => {
    const target = {} as IndexTarget
    const onWork: MeterOptions['onWork'] = (of, shard, tally) =>
      expect([of, shard, tally.added]).toEqual([target, 1, 1])
    const { meter } = meterOf({ onProgress: undefined, onWork })
    meter.tell('ready', 0, [])
    meter.did(target, 1, { ...emptyTally(), added: 1 })
    meterOf({ onProgress: undefined }).meter.did(target, 1, emptyTally())
    expect.assertions(1)
  })
})
