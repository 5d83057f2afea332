import { placeAt } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import type { Copier } from './copier.ts'
import { copyRound } from './copy-move.ts'
import type { MoveJob } from './move-job.ts'
import { freshRecord } from './move-record.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a round of copies begins when its pass has begun, and ends at a floor that is raised then', async () => {
  const calls: string[] = []
  const noting = (call: string) => async (): Promise<number> => {
    await turn()
    return calls.push(call)
  }
  const record = freshRecord({ from: 0, buckets: '1' })
  const shards = [{ entities: { raiseFloor: noting('floor') } }]
  const job = {
    work: { context: { driver: { shards } }, move: { from: 0 } },
    lease: { record },
  } as unknown as MoveJob
  // It takes longer than the other statements.
  const beginPass = async (): Promise<void> => {
    await turn()
    await noting('pass')()
  }
  const copier = { buckets: '1', place: placeAt(0), beginPass, copy: noting('copy') }
  expect(await copyRound(job, copier as unknown as Copier)).toBe(0)
  expect(calls).toEqual(['pass', 'floor', 'copy'])
  // The fake floor is the number of calls up to it.
  expect(copier.place).toEqual(placeAt(2))
})
