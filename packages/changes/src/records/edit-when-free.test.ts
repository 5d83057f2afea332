import { afterEach, beforeEach, expect, it } from 'vitest'
import { letterTask, partitionNumbers } from '@looseleaf/protocol/internal'
import { Hours, type Process } from '../../test/hours.ts'
import { discardDeadLetters, readDeadLetters } from '../report/manage-consumers.ts'
import { editWhenFree } from '@looseleaf/protocol/internal'

let hours: Hours
let process: Process

beforeEach(async () => {
  hours = new Hours()
  process = await hours.start()
})
afterEach(() => hours.end())

const tasksOf = (shard: number) => hours.servers.shards[shard]!.tasks

/** Tracks whether this work is over, and its error if it failed. */
function outcomeOf(work: Promise<unknown>): { error?: unknown; isOver: boolean } {
  const outcome: { error?: unknown; isOver: boolean } = { isOver: false }
  work.then(
    () => (outcome.isOver = true),
    (error: unknown) => Object.assign(outcome, { error, isOver: true }),
  )
  return outcome
}

it('an edit waits ten seconds for a task that others hold, then throws and changes nothing', async () => {
  await tasksOf(0).claim('some', 'other', 60_000)
  const edits: string[] = []
  const edit = (): Promise<void> =>
    editWhenFree(process.store.context, 0, 'some', (text) => (edits.push(text), `${text}!`), {})
  const refused = outcomeOf(edit())
  await hours.pass(9_000)
  expect(refused.isOver).toBe(false)
  await hours.pass(2_000)
  expect(refused.error).toMatchObject({
    code: 'SHARD_BUSY',
    message: 'Other processes have held the task some for 10 seconds; try again later.',
    shard: 'reference shard 0',
    retryable: true,
  })
  const waiting = outcomeOf(edit())
  await hours.pass(3_000)
  await tasksOf(0).save('some', 'other', 'text', 0)
  await hours.pass(200)
  expect(waiting).toEqual({ isOver: true })
  expect(edits).toEqual(['text'])
  expect(await tasksOf(0).load('some')).toEqual({ progress: 'text!', owner: undefined })
})

it('a change is retried while others hold the dead letters, and discarding them throws `SHARD_BUSY`', async () => {
  await process.store.put({})
  const dead = partitionNumbers.map((partition) => letterTask('search', partition, 'dead'))
  const hold = () => Promise.all([0, 1].map((shard) => tasksOf(shard).claimAll(dead, 'other', 60_000)))
  await hold()
  const errors = new Set<unknown>()
  const consumer = process.consume(
    () => {
      throw new Error('never')
    },
    { maxAttempts: 1, onError: (error) => void errors.add((error as { code?: string }).code) },
  )
  await hours.pass(30_000)
  expect(errors).toContain('SHARD_BUSY')
  expect(consumer.status().deadLettered).toBe(0)
  expect(consumer.status().shards.reduce((sum, { failing }) => sum + failing, 0)).toBe(1)
  expect(await readDeadLetters(process.store, 'search')).toEqual([])
  // The leases of the other holder have expired.
  await hours.pass(60_000)
  expect(consumer.status().deadLettered).toBe(1)
  expect(await readDeadLetters(process.store, 'search')).toHaveLength(1)
  await hold()
  const discarded = outcomeOf(discardDeadLetters(process.store, 'search'))
  await hours.pass(11_000)
  expect(discarded.error).toMatchObject({ code: 'SHARD_BUSY' })
  expect(await readDeadLetters(process.store, 'search')).toHaveLength(1)
})
