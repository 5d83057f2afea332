import { expect, test } from 'vitest'
import { judgeReads } from './judge-reads.ts'
import type { ReplicasRecord } from './replicas-records.ts'

const wrote = (n: number, at: number): ReplicasRecord => ({ kind: 'wrote', id: 'a', n, at: at * 1_000 })
const read = (n: number, began: number, bound = 100): ReplicasRecord => ({
  kind: 'read',
  began: began * 1_000,
  bound,
  found: [['a', n]],
})

test('a state that was replaced within the bound may be read, and its age is reported', () => {
  const judged = judgeReads([
    read(0, 5),
    wrote(1, 10),
    wrote(2, 50),
    read(1, 150),
    read(2, 500),
    read(0, 100),
  ])
  expect(judged).toMatchObject({ reads: 4, looks: 4, writes: 2, wrongs: [] })
  expect(judged.ages).toEqual([90, 100])
})

test('a state that was replaced longer ago is wrong, and so is a missing entity', () => {
  expect(judgeReads([wrote(1, 10), wrote(2, 50), read(1, 151)]).wrongs).toEqual([
    'a: 1 was read 101 ms after 2; the bound was 100',
  ])
  expect(judgeReads([wrote(1, 10), read(0, 111)]).wrongs).toHaveLength(1)
})

test('an error that a process reports counts as wrong, and the counts of processes are added up', () => {
  const done: ReplicasRecord = { kind: 'done', own: 1, others: 2, toPrimaries: 3, toReplicas: 4 }
  const records: ReplicasRecord[] = [
    done,
    done,
    { kind: 'wrong', message: 'ended' },
    { kind: 'error', code: 'DEADLINE' },
  ]
  expect(judgeReads(records)).toMatchObject({
    own: 2,
    others: 4,
    toPrimaries: 6,
    toReplicas: 8,
    errors: { DEADLINE: 1 },
    wrongs: ['ended'],
  })
})
