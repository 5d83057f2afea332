import { describe, expect, it } from 'vitest'
import { leapingTime } from '../../test/times.ts'
import { emptyTally } from '../pass/tally.ts'
import { freshPart, type Part } from './part.ts'
import { createProgressMeter, type CleanProgress } from './progress.ts'

const partOf = (seen: number, total: number, added: number): Part => ({
  ...freshPart('run'),
  seen,
  total,
  tally: { ...emptyTally(), added, removed: 2 * added, fenced: 3, waiting: 4, misfits: 5, undecodable: 6 },
})

describe('progress', () => {
  it('is that of the part that is furthest, with the sums of all', () => {
    const time = leapingTime()
    const told: CleanProgress[] = []
    const meter = createProgressMeter(time, (progress) => told.push(progress))
    meter.count(10)
    meter.count(20)
    time.leap(1_500)
    meter.tell('entities', 1, [
      { index: 'a', part: partOf(7, 20, 1) },
      { index: 'b', part: partOf(9, 10, 2) },
      { index: 'a', part: partOf(1, 1, 0) },
    ])
    expect(told).toEqual([
      {
        phase: 'entities',
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
      },
    ])
  })

  it('is never more done than there is, and has a rate from the start', () => {
    const told: CleanProgress[] = []
    const meter = createProgressMeter(leapingTime(), (progress) => told.push(progress))
    meter.tell('check', 0, [{ index: 'a', part: partOf(8, 5, 0) }])
    meter.count(3)
    meter.tell('ready', 0, [])
    expect(told).toMatchObject([
      { done: 8, total: 8, rate: 0 },
      { phase: 'ready', done: 0, total: 0, rate: 3_000 },
    ])
  })

  it('need not be told to anybody, and work can be told besides', () => {
    const meter = createProgressMeter(leapingTime(), undefined, (tally) => expect(tally.added).toBe(1))
    meter.tell('ready', 0, [])
    meter.did({ ...emptyTally(), added: 1 })
    createProgressMeter(leapingTime(), undefined).did(emptyTally())
    expect.assertions(1)
  })
})
