import { afterEach, beforeEach, expect, it } from 'vitest'
import { partitionNumbers } from '@looseleaf/protocol'
import { Hours, type Process } from '../../test/hours.ts'
import { discardDeadLetters, readDeadLetters } from '../report/manage-consumers.ts'
import { editTask } from './edit-task.ts'
import { deadTask } from './names.ts'

let hours: Hours
let one: Process

beforeEach(async () => {
  hours = new Hours()
  one = await hours.start()
})
afterEach(() => hours.end())

const tasksOf = (shard: number) => hours.servers.shards[shard]!.tasks

/** What has become of it; undefined while it is under way. */
function outcomeOf(work: Promise<unknown>): { error?: unknown; isOver: boolean } {
  const outcome: { error?: unknown; isOver: boolean } = { isOver: false }
  work.then(
    () => (outcome.isOver = true),
    (error: unknown) => Object.assign(outcome, { error, isOver: true }),
  )
  return outcome
}

it('a task that others hold is waited for, for ten seconds, and nothing of it is changed then', async () => {
  await tasksOf(0).claim('some', 'other', 60_000)
  const edits: string[] = []
  const edit = (): Promise<void> =>
    editTask(one.store.context, 0, 'some', (text) => (edits.push(text), `${text}!`), {})
  const refused = outcomeOf(edit())
  await hours.pass(9_000)
  expect(refused.isOver).toBe(false)
  await hours.pass(2_000)
  expect(refused.error).toMatchObject({
    code: 'SHARD_BUSY',
    message: 'The task some was held by others for 10 seconds.',
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

it('dead letters that others hold: a change is tried on until it can be one, and who wants to discard them is told', async () => {
  await one.store.put({})
  const dead = partitionNumbers.map((partition) => deadTask('search', partition))
  const hold = () => Promise.all([0, 1].map((shard) => tasksOf(shard).claimAll(dead, 'other', 60_000)))
  await hold()
  const errors = new Set<unknown>()
  const consumer = one.consume(
    () => {
      throw new Error('never')
    },
    { maxAttempts: 1, onError: (error) => void errors.add((error as { code?: string }).code) },
  )
  await hours.pass(30_000)
  expect(errors).toContain('SHARD_BUSY')
  expect(consumer.status().givenUp).toBe(0)
  expect(consumer.status().shards.reduce((sum, { failing }) => sum + failing, 0)).toBe(1)
  expect(await readDeadLetters(one.store, 'search')).toEqual([])
  // The leases of whoever held them are over.
  await hours.pass(60_000)
  expect(consumer.status().givenUp).toBe(1)
  expect(await readDeadLetters(one.store, 'search')).toHaveLength(1)
  await hold()
  const discarded = outcomeOf(discardDeadLetters(one.store, 'search'))
  await hours.pass(11_000)
  expect(discarded.error).toMatchObject({ code: 'SHARD_BUSY' })
  expect(await readDeadLetters(one.store, 'search')).toHaveLength(1)
})
