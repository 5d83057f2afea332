import type { LayoutMove, ShardCatalog } from '@looseleaf/core/internal'
import { placeAt, type Attempt } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { differentCopies } from './copy-faults.ts'
import type { MoveJob } from './move-job.ts'
import { freshRecord, type MoveRecord } from './move-record.ts'

const MOVE: LayoutMove = { id: 7, from: 0, to: 1, buckets: '0-9', phase: 'both' }
const ATTEMPT: Attempt = { attempt: 4, buckets: '0-9', lost: '' }

/** A job with a record in its last steps, whose target has this attempt. */
function jobWith({ attempt, buckets }: Attempt): {
  readonly job: MoveJob
  readonly record: MoveRecord
  readonly saved: MoveRecord[]
} {
  const record: MoveRecord = {
    ...freshRecord(MOVE),
    step: 'sealing',
    cleared: true,
    place: placeAt(50),
    attempt: 4,
    tables: ['index_by_user'],
    verified: { rows: 1, at: 2, by: 'host:1', stale: false },
    seals: [5],
  }
  const coming = [{ move: 7, attempt, buckets, from: 0, afterAddedId: 0 }]
  const catalog = {
    epoch: 1,
    shardNumber: 1,
    indexes: [],
    serves: { owns: '', coming },
  } as unknown as ShardCatalog
  const shards = [{}, { name: 'shard 1', catalog: { load: async () => catalog } }]
  const saved: MoveRecord[] = []
  const lease = { record, save: async () => void saved.push({ ...record }) }
  const job = {
    work: { context: { driver: { shards } }, move: MOVE },
    lease,
    announcement: { at: 5 },
  } as unknown as MoveJob
  return { job, record, saved }
}

const ANEW: Partial<MoveRecord> = {
  step: 'copying',
  cleared: false,
  place: placeAt(0),
  attempt: 0,
  last: undefined,
  tables: [],
  verified: undefined,
  seals: [5],
}

test.each([
  [ATTEMPT, 'Nothing was handed over. Call shards.repair to copy everything again, or undo the move.'],
  [
    { ...ATTEMPT, buckets: '3-9' },
    'The target serves 3 of the 10 buckets. Call shards.repair to copy the others again.',
  ],
  [
    { ...ATTEMPT, lost: '0-2' },
    'The target serves 0 of the 10 buckets. Call shards.repair to copy the others again.',
  ],
])('copies that differ are copied anew, and their error tells the way on: %j', async (attempt, wayOn) => {
  const { job, record, saved } = jobWith(attempt)
  const error = await differentCopies(job, attempt, 2, 3)
  expect(error).toMatchObject({
    code: 'CONFLICT',
    message: `Move 7: 2 copies differ from their entities, and 3 have no entity. Another program writes to the target. ${wayOn}`,
  })
  expect(record).toEqual({ ...record, ...ANEW })
  expect(saved).toEqual([record])
  expect(job.announcement.at).toBe(5)
})

test('copies that differ because the target went back are copied anew after another announcement', async () => {
  const { job, record, saved } = jobWith({ ...ATTEMPT, attempt: 3 })
  const error = await differentCopies(job, ATTEMPT, 2, 3)
  expect(error).toMatchObject({ code: 'STALE_EPOCH', shard: 'shard 1', retryable: true })
  expect(record).toEqual({ ...record, ...ANEW })
  expect(saved).toEqual([record])
  expect(job.announcement.at).toBeUndefined()
})
